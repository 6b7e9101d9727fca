package apiserver_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// vaulted is a cluster whose API servers may each load an EncryptionConfiguration.
type vaulted struct {
	t       *testing.T
	timers  *kms.ManualTimers
	store   *apiserver.Store
	sockets *kms.Sockets
	vault   *kms.Vault
	random  *stream
}

// stream is a source of bytes that never repeat.
type stream struct{ n uint64 }

func (s *stream) Read(b []byte) (int, error) {
	for i := range b {
		s.n = s.n*6364136223846793005 + 1442695040888963407
		b[i] = byte(s.n >> 56)
	}
	return len(b), nil
}

// passive is a clock of timers.
type passive struct{ *kms.ManualTimers }

func (p passive) Since(t time.Time) time.Duration { return p.Now().Sub(t) }

func newVaulted(t *testing.T) *vaulted {
	timers := kms.NewManualTimers()
	return &vaulted{
		t: t, timers: timers, sockets: kms.NewSockets(timers), vault: kms.NewVault("kek-1"), random: &stream{},
		store: apiserver.NewStore(apiserver.Options{Clock: passive{timers}, Guard: true}),
	}
}

// instance is one API server, with the file that it loads.
type instance struct {
	*api
	v      *vaulted
	file   string
	loader *encryption.Loader
}

func (v *vaulted) instance(name string) *instance {
	return &instance{v: v, api: &api{TB: v.t, Server: apiserver.NewServer(v.store, name), ns: "default"}}
}

// start starts the process of the API server with a file; it has to come up.
func (i *instance) start(file string, reload bool) {
	i.Helper()
	if err := i.tryStart(file, reload); err != nil {
		i.Fatalf("start %s: %v", i.Server.Name(), err)
	}
}

func (i *instance) tryStart(file string, reload bool) error {
	if i.loader != nil {
		i.loader.Close()
	}
	i.file = file
	l, err := encryption.Start(encryption.Options{
		Surroundings: encryption.Surroundings{Timers: i.v.timers, Random: i.v.random, Sockets: i.v.sockets},
		File:         func() ([]byte, error) { return []byte(i.file), nil },
		Reload:       reload,
	})
	if err != nil {
		return err
	}
	i.loader = l
	i.Restart()
	i.SetEncryption(l)
	return nil
}

// configuration is an EncryptionConfiguration for secrets: "i" is identity, "c1" aescbc
// with key 1, "g1" aesgcm, "s1" secretbox, "k1" KMS by the plugin 1.
func configuration(providers ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n")
	for _, p := range providers {
		id := p[1:]
		key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id+"-", 32)[:32]))
		switch p[0] {
		case 'i':
			b.WriteString("  - identity: {}\n")
		case 'k':
			fmt.Fprintf(&b, "  - kms: {apiVersion: v2, name: %s_secrets, endpoint: 'unix:///var/run/kmsplugin/kms-%s.sock', timeout: 10s}\n", id, id)
		default:
			name := map[byte]string{'c': "aescbc", 'g': "aesgcm", 's': "secretbox"}[p[0]]
			fmt.Fprintf(&b, "  - %s: {keys: [{name: '%s', secret: %s}]}\n", name, id, key)
		}
	}
	return b.String()
}

func (v *vaulted) plugin(id string) *kms.Plugin {
	v.t.Helper()
	p := kms.NewPlugin(v.vault, nil)
	if err := v.sockets.Listen("unix:///var/run/kmsplugin/kms-"+id+".sock", p); err != nil {
		v.t.Fatal(err)
	}
	return p
}

func secret(name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"password": []byte(value)}}
}

// stored lists the secrets with what they are sealed by.
func (v *vaulted) stored() string {
	var out []string
	for _, o := range v.store.Stored(secrets.GroupResource()) {
		out = append(out, o.Name+"="+o.SealedBy.String())
	}
	return strings.Join(out, " ")
}

func TestSecretsAreStoredSealed(t *testing.T) {
	v := newVaulted(t)
	v.plugin("1")
	a := v.instance("a")
	a.create(secrets, secret("before", "hunter2"))
	for _, provider := range []string{"c7", "g7", "s7", "k1"} {
		a.start(configuration(provider, "c7", "g7", "s7", "i"), false)
		a.create(secrets, secret(provider, "hunter2"))
	}
	equal(t, "stored", v.stored(), "before=clear c7=aescbc:7 g7=aesgcm:7 k1=kms:1_secrets:kek-1 s7=secretbox:7")
	for name, prefix := range map[string]string{"c7": "k8s:enc:aescbc:v1:7:", "g7": "k8s:enc:aesgcm:v1:7:", "s7": "k8s:enc:secretbox:v1:7:", "k1": "k8s:enc:kms:v2:1_secrets:"} {
		data := string(v.store.StoredBytes(secrets.GroupResource(), "default", name))
		if !strings.HasPrefix(data, prefix) || strings.Contains(data, "hunter2") {
			t.Errorf("%s is stored as %q", name, data)
		}
		equal(t, name, string(a.get(secrets, name).(*corev1.Secret).Data["password"]), "hunter2")
	}
	a.create(configMaps, configMap("cm"))
	equal(t, "a kind that the configuration does not mention", len(v.store.StoredBytes(configMaps.GroupResource(), "default", "cm")), 0)
}
