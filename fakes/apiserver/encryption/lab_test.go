package encryption_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

var secrets = schema.GroupResource{Resource: "secrets"}

const path = "/registry/secrets/default/s"

// stream is a source of bytes that never repeat.
type stream struct{ n uint64 }

func (s *stream) Read(b []byte) (int, error) {
	for i := range b {
		s.n = s.n*6364136223846793005 + 1442695040888963407
		b[i] = byte(s.n >> 56)
	}
	return len(b), nil
}

// lab is a machine on which API servers are started.
type lab struct {
	t       *testing.T
	timers  *kms.ManualTimers
	sockets *kms.Sockets
	vault   *kms.Vault
	random  *stream
	file    string
}

func newLab(t *testing.T) *lab {
	timers := kms.NewManualTimers()
	return &lab{t: t, timers: timers, sockets: kms.NewSockets(timers), vault: kms.NewVault("kek-1"), random: &stream{}}
}

func (l *lab) surroundings() encryption.Surroundings {
	return encryption.Surroundings{Timers: l.timers, Random: l.random, Sockets: l.sockets}
}

// build makes the transformer for secrets of a list of providers.
func (l *lab) build(providers ...string) *encryption.Transformer {
	l.t.Helper()
	c, err := encryption.ParseConfiguration([]byte(forSecrets(providers...)), false)
	if err != nil {
		l.t.Fatal(err)
	}
	ts, err := encryption.Build(c, l.surroundings())
	if err != nil {
		l.t.Fatal(err)
	}
	return ts.For(secrets)
}

// start starts an API server with the lab's file.
func (l *lab) start(reload bool) (*encryption.Loader, error) {
	return encryption.Start(encryption.Options{
		Surroundings: l.surroundings(), Reload: reload,
		File: func() ([]byte, error) {
			if l.file == "missing" {
				return nil, fmt.Errorf("open /etc/enc.yaml: no such file or directory")
			}
			return []byte(l.file), nil
		},
	})
}

func (l *lab) plugin(id string) *kms.Plugin {
	l.t.Helper()
	p := kms.NewPlugin(l.vault, nil)
	if err := l.sockets.Listen(endpoint(id), p); err != nil {
		l.t.Fatal(err)
	}
	return p
}

func (l *lab) equal(what string, got, want any) {
	l.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func endpoint(id string) string { return "unix:///var/run/kmsplugin/kms-" + id + ".sock" }

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"

// forSecrets is a configuration for secrets; see providerOf.
func forSecrets(providers ...string) string { return head + element("secrets", providers...) }

// element is one element of the list resources.
func element(resources string, providers ...string) string {
	var b strings.Builder
	b.WriteString("- resources: [" + resources + "]\n  providers:\n")
	for _, p := range providers {
		b.WriteString("  - " + providerOf(p) + "\n")
	}
	return b.String()
}

// providerOf spells a provider: "i" is identity, "k1" KMS by plugin 1, "c1" aescbc with
// the key 1, and so "g1" aesgcm and "s1" secretbox; "c1x2y" has two keys, 1 of bytes x
// and 2 of bytes y.
func providerOf(p string) string {
	kind, rest := p[0], p[1:]
	switch kind {
	case 'i':
		return "identity: {}"
	case 'k':
		return fmt.Sprintf("kms: {apiVersion: v2, name: '%s_secrets', endpoint: '%s', timeout: 3s}", rest, endpoint(rest))
	}
	var keys []string
	if len(rest) == 1 {
		rest += rest
	}
	for ; rest != ""; rest = rest[2:] {
		material := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(rest[1:2], 32)))
		keys = append(keys, fmt.Sprintf("{name: '%s', secret: %s}", rest[:1], material))
	}
	name := map[byte]string{'c': "aescbc", 'g': "aesgcm", 's': "secretbox"}[kind]
	return name + ": {keys: [" + strings.Join(keys, ", ") + "]}"
}
