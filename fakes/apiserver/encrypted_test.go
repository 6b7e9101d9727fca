package apiserver_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// vaulted is a cluster whose API servers may each load an EncryptionConfiguration.
type vaulted struct {
	t       testing.TB
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

func newVaulted(t testing.TB) *vaulted {
	timers := kms.NewManualTimers()
	return &vaulted{
		t: t, timers: timers, sockets: kms.NewSockets(timers), vault: kms.NewVault("kek-1"), random: &stream{},
		store: apiserver.NewStore(apiserver.Options{Clock: passive{timers}, Guard: isTest(t)}),
	}
}

func isTest(t testing.TB) bool {
	_, ok := t.(*testing.T)
	return ok
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

const (
	noPrefix = "no matching prefix found"
	noKey    = "no matching key was found for the provided AES transformer"
)

func corruptSecret(name, why string) string {
	return "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /secrets/default/" + name +
		", ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: " + why
}

// TestAServerWithoutTheKey meets what another has sealed, in every way in which a real
// server tells of it.
func TestAServerWithoutTheKey(t *testing.T) {
	v := newVaulted(t)
	a, b := v.instance("a"), v.instance("b")
	a.start(configuration("c1", "i"), false)
	a.create(secrets, secret("s", "x"))
	b.start(configuration("c2", "i"), false) // its watch caches are cold, and stay so

	b.refused(b.request(apiserver.Get, secrets, "s"), 500, "InternalError", corruptSecret("s", noKey))
	b.refused(b.request(apiserver.Delete, secrets, "s"), 500, "InternalError", corruptSecret("s", noKey))
	b.refused(b.request(apiserver.Update, secrets, "s", body(secret("s", "y"))), 500, "InternalError",
		"Internal error occurred: data from the storage is not transformable revision=0: "+noKey)
	b.refused(b.request(apiserver.Patch, secrets, "s", merge(`{"type":"x"}`)), 500, "InternalError",
		"Internal error occurred: data from the storage is not transformable revision=0: "+noKey)

	listed := "failed to read one or more secrets from the storage: StorageError: corrupt object, Code: 7, Key: /registry/secrets/default/s" +
		", ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: " + noKey
	unready := "storage is (re)initializing: failed to list secrets: " + listed
	b.refused(b.request(apiserver.List, secrets, ""), 429, "TooManyRequests", unready)
	b.refused(b.request(apiserver.List, secrets, "", version("0")), 429, "TooManyRequests", unready)
	_, err := b.Watch(b.request(apiserver.WatchVerb, secrets, ""))
	b.status(err, 429, "TooManyRequests", unready)
	paged := b.request(apiserver.List, secrets, "")
	paged.Limit = 500 // goes to etcd while the cache is not ready
	s := b.refused(paged, 500, "StorageReadError", listed)
	equal(t, "causes", len(s.Details.Causes), 1)

	a.get(secrets, "s")
	b.create(secrets, secret("t", "mine"))
	equal(t, "stored", v.stored(), "s=aescbc:1 t=aescbc:2")
	a.refused(a.request(apiserver.Get, secrets, "t"), 500, "InternalError", corruptSecret("t", noKey))
	b.get(configMaps, b.create(configMaps, configMap("cm")).GetName()) // other kinds do not suffer
}

// TestNothingConfigured: a server without any configuration refuses what is sealed, and
// one with a configuration but no identity refuses what is not.
func TestNothingConfigured(t *testing.T) {
	v := newVaulted(t)
	plain, sealing := v.instance("plain"), v.instance("sealing")
	plain.create(secrets, secret("clear", "x"))
	sealing.start(configuration("g1"), false)
	sealing.create(secrets, secret("sealed", "x"))
	plain.refused(plain.request(apiserver.Get, secrets, "sealed"), 500, "InternalError",
		corruptSecret("sealed", "identity transformer tried to read encrypted data"))
	sealing.refused(sealing.request(apiserver.Get, secrets, "clear"), 500, "InternalError", corruptSecret("clear", noPrefix))
	plain.get(secrets, "clear")
}

// TestListsTellOfManyAtOnce: a list names up to a hundred objects that it cannot read.
func TestListsTellOfManyAtOnce(t *testing.T) {
	v := newVaulted(t)
	a, b := v.instance("a"), v.instance("b")
	a.start(configuration("g1"), false)
	for i := range 120 {
		a.create(secrets, secret(fmt.Sprintf("s%03d", i), "x"))
	}
	b.start(configuration("g2"), false)
	req := b.request(apiserver.List, secrets, "")
	req.Limit = 500
	_, err := b.Do(req)
	s := b.status(err, 500, "StorageReadError", "failed to read one or more secrets from the storage: StorageError: corrupt object, Code: 7, "+
		"Key: /registry/secrets/default/s000, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: "+
		noKey+" (and 99 more)")
	equal(t, "causes", len(s.Details.Causes), 101)
	equal(t, "the last cause", s.Details.Causes[100].Message, "too many errors, the list is truncated")
	req.Namespace, a.ns = "kube-system", "kube-system"
	a.create(secrets, secret("elsewhere", "x"))
	_, err = b.Do(req)
	if err == nil || !strings.Contains(err.Error(), "/registry/secrets/kube-system/elsewhere") || strings.Contains(err.Error(), "more)") {
		t.Errorf("a list of one namespace tells of others: %v", err)
	}
}

// TestWritesThatChangeNothing seal an object anew if it is stale, and are no writes if it
// is not: that is how a migration works, and why one by a server with an old
// configuration does nothing.
func TestWritesThatChangeNothing(t *testing.T) {
	v := newVaulted(t)
	a, b := v.instance("a"), v.instance("b")
	a.start(configuration("c1", "i"), false)
	b.start(configuration("c2", "c1", "i"), false)
	first := a.create(secrets, secret("s", "x"))
	equal(t, "by a server that seals with the same key", a.update(secrets, a.get(secrets, "s")).GetResourceVersion(), first.GetResourceVersion())
	equal(t, "by a patch", a.patch(secrets, "s", `{}`).GetResourceVersion(), first.GetResourceVersion())
	dry := b.request(apiserver.Update, secrets, "s", body(b.get(secrets, "s")), dryRun)
	equal(t, "a dry run", b.must(dry).Object.GetResourceVersion(), first.GetResourceVersion())
	moved := b.update(secrets, b.get(secrets, "s"))
	if moved.GetResourceVersion() == first.GetResourceVersion() {
		t.Error("a write by the server with another key was none")
	}
	equal(t, "stored", v.stored(), "s=aescbc:2")
	equal(t, "once more", b.update(secrets, b.get(secrets, "s")).GetResourceVersion(), moved.GetResourceVersion())
	b.start(configuration("i", "c2"), false)
	b.patch(secrets, "s", `{}`)
	equal(t, "stored after a move to identity", v.stored(), "s=clear")
	apply := func(i *instance) string {
		return i.patch(secrets, "s", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"a":"b"}}}`,
			func(r *apiserver.Request) { r.PatchType, r.FieldManager = types.ApplyPatchType, "me" }).GetResourceVersion()
	}
	applied := apply(b)
	equal(t, "applied once more", apply(b), applied)
	a.start(configuration("c1", "i"), false)
	if apply(a) == applied {
		t.Error("what was applied once more by the server with another key was no write")
	}
	equal(t, "stored after what was applied", v.stored(), "s=aescbc:1")
}

// TestWhatACacheHoldsIsNotReadAgain: a server that has read an object goes on telling it
// from its watch cache, and changes it, when its configuration has the key no more.
func TestWhatACacheHoldsIsNotReadAgain(t *testing.T) {
	v := newVaulted(t)
	a := v.instance("a")
	a.start(configuration("g1"), true)
	rv := a.create(secrets, secret("s", "x")).GetResourceVersion()
	equal(t, "a list", names(a.list(secrets)), "s")
	w := a.watch(secrets, version(rv))
	a.file = configuration("g2", "i")
	v.timers.Advance(2 * time.Minute)
	equal(t, "loaded", a.loader.Info().Succeeded, 1)

	equal(t, "a list from the cache", names(a.list(secrets)), "s")
	a.refused(a.request(apiserver.Get, secrets, "s"), 500, "InternalError", corruptSecret("s", noKey))
	equal(t, "a get from the cache", a.get(secrets, "s", version("0")).GetName(), "s")
	same := a.get(secrets, "s", version("0"))
	a.refused(a.request(apiserver.Update, secrets, "s", body(same)), 500, "InternalError",
		"Internal error occurred: data from the storage is not transformable revision=0: "+noKey)
	same.(*corev1.Secret).Data["password"] = []byte("y")
	now := a.update(secrets, same)
	equal(t, "stored", v.stored(), "s=aesgcm:2")
	equal(t, "the watch", drain(w), "~s@"+now.GetResourceVersion())
	a.get(secrets, "s")
}

// TestAWatchCacheThatCannotReadAnEvent holds still for half a minute, and then ends all
// of its watches.
func TestAWatchCacheThatCannotReadAnEvent(t *testing.T) {
	v := newVaulted(t)
	a, b := v.instance("a"), v.instance("b")
	a.start(configuration("g1"), false)
	b.start(configuration("g2", "g1"), false)
	first := a.create(secrets, secret("first", "x"))
	w := a.watch(secrets, version(first.GetResourceVersion()))
	second := b.create(secrets, secret("second", "x"))
	third := a.create(secrets, secret("third", "x"))
	equal(t, "the watch", drain(w), "")
	equal(t, "what the cache shows", names(a.list(secrets, version("0"))), "first")
	_, err := a.Do(a.request(apiserver.List, secrets, ""))
	if err == nil || !strings.Contains(err.Error(), "/registry/secrets/default/second") {
		t.Errorf("a consistent list: %v", err)
	}
	v.timers.Advance(20 * time.Second)
	equal(t, "ended", w.Ended(), false)
	v.timers.Advance(12 * time.Second)
	equal(t, "ended", w.Ended(), true)
	if _, err := a.Watch(a.request(apiserver.WatchVerb, secrets, "")); err == nil || !strings.Contains(err.Error(), "storage is (re)initializing") {
		t.Errorf("a new watch: %v", err)
	}
	a.start(configuration("g1", "g2"), false)
	w = a.watch(secrets, version(first.GetResourceVersion()))
	equal(t, "with the key", drain(w), "+second@"+second.GetResourceVersion()+" +third@"+third.GetResourceVersion())
}

// TestAWatchCacheGoesOn when the key comes in time.
func TestAWatchCacheGoesOn(t *testing.T) {
	v := newVaulted(t)
	a, b := v.instance("a"), v.instance("b")
	a.start(configuration("g1"), true)
	b.start(configuration("g2", "g1"), false)
	w := a.watch(secrets, version(a.create(secrets, secret("first", "x")).GetResourceVersion()))
	v.timers.Advance(50 * time.Second)
	second := b.create(secrets, secret("second", "x"))
	equal(t, "the watch", drain(w), "")
	a.file = configuration("g1", "g2")
	v.timers.Advance(15 * time.Second)
	equal(t, "loaded", a.loader.Info().Succeeded, 1)
	equal(t, "the watch", drain(w), "+second@"+second.GetResourceVersion())
}

// TestADeletionThatCannotBeRead ends all watches at once.
func TestADeletionThatCannotBeRead(t *testing.T) {
	v := newVaulted(t)
	a, b := v.instance("a"), v.instance("b")
	a.start(configuration("g1"), true)
	b.start(configuration("g1"), false)
	w := a.watch(secrets, version(a.create(secrets, secret("s", "x")).GetResourceVersion()))
	a.file = configuration("g2")
	v.timers.Advance(2 * time.Minute)
	b.delete(secrets, "s")
	equal(t, "the watch", drain(w), "")
	equal(t, "ended", w.Ended(), true)
	v.timers.Advance(time.Second)
	equal(t, "a second later", names(a.list(secrets)), "")
}

// TestUnsafeDeletion removes only what cannot be read.
func TestUnsafeDeletion(t *testing.T) {
	v := newVaulted(t)
	a, b := v.instance("a"), v.instance("b")
	a.start(configuration("g1"), false)
	b.start(configuration("g2"), false)
	s := secret("s", "x")
	s.Finalizers = []string{"example.com/hold"}
	a.create(secrets, s)
	unsafe := deleteWith(func(o *metav1.DeleteOptions) {
		yes := true
		o.IgnoreStoreReadErrorWithClusterBreakingPotential = &yes
	})
	a.refused(a.request(apiserver.Delete, secrets, "s", unsafe), 409, "Conflict",
		`Operation cannot be fulfilled on secrets "s": StorageError: invalid object, Code: 4, Key: /registry/secrets/default/s, ResourceVersion: 0, `+
			`AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage`)
	b.delete(secrets, "s", unsafe)
	a.refused(a.request(apiserver.Get, secrets, "s"), 404, "NotFound", `secrets "s" not found`)
	a.refused(a.request(apiserver.Delete, secrets, "s", unsafe), 404, "NotFound", `secrets "s" not found`)
}

// TestWritesInFlight: what was encoded before a swap is committed after it, sealed as it
// was then.
func TestWritesInFlight(t *testing.T) {
	v := newVaulted(t)
	a := v.instance("a")
	a.start(configuration("g1"), true)
	encoded := a.loader.Transformers().Snapshot()
	a.file = configuration("g2", "g1")
	v.timers.Advance(2 * time.Minute)
	a.create(secrets, secret("late", "x"), func(r *apiserver.Request) { r.Encoded = encoded })
	a.create(secrets, secret("new", "x"))
	equal(t, "stored", v.stored(), "late=aesgcm:1 new=aesgcm:2")
	a.get(secrets, "late")
}

// TestADriverReadsEverything, whoever has sealed it, and seals as a server does.
func TestADriverReadsEverything(t *testing.T) {
	v := newVaulted(t)
	a, driver := v.instance("a"), v.instance("driver")
	driver.SetGhost(func() *apiserver.Server { return a.Server })
	a.start(configuration("g1"), false)
	a.create(secrets, secret("s", "x"))
	driver.create(secrets, secret("t", "x"))
	a.start(configuration("g2"), false)
	equal(t, "the driver's list", names(driver.list(secrets)), "s t")
	driver.get(secrets, "s")
	equal(t, "a watch", len(strings.Fields(drain(driver.watch(secrets)))), 2)
	driver.patch(secrets, "s", `{"type":"Opaque","stringData":{"a":"b"}}`)
	equal(t, "stored", v.stored(), "s=aesgcm:2 t=aesgcm:1")
}

// TestAWatchThatWasOpenBefore anything was sealed ends like any other.
func TestAWatchThatWasOpenBefore(t *testing.T) {
	v := newVaulted(t)
	plain, a := v.instance("plain"), v.instance("a")
	w := plain.watch(secrets, version(plain.create(secrets, secret("clear", "x")).GetResourceVersion()))
	a.start(configuration("g1", "i"), false)
	plain.create(secrets, secret("clearer", "x"))
	equal(t, "what is in clear", len(strings.Fields(drain(w))), 1)
	a.create(secrets, secret("sealed", "x"))
	equal(t, "what is sealed", drain(w), "")
	v.timers.Advance(31 * time.Second)
	a.create(secrets, secret("another", "x"))
	equal(t, "ended", w.Ended(), true)
}

// TestAllKindsMayBeSealed, also those that a server writes by itself.
func TestAllKindsMayBeSealed(t *testing.T) {
	v := newVaulted(t)
	a, b := v.instance("a"), v.instance("b")
	a.start(strings.Replace(configuration("g1", "i"), "[secrets]", "['*.*']", 1), false)
	a.create(pods, pod("p", "n1"))
	a.create(configMaps, configMap("cm"))
	a.create(deployments, deployment("d"))
	a.ns = ""
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
	ns.Spec.Finalizers = []corev1.FinalizerName{"kubernetes"}
	a.create(namespaces, ns)
	a.delete(namespaces, "ns")
	a.ns = "default"
	a.update(pods, a.get(pods, "p"))
	a.delete(pods, "p") // marks it first
	for _, gvr := range []schema.GroupVersionResource{pods, configMaps, deployments} {
		for _, o := range v.store.Stored(gvr.GroupResource()) {
			equal(t, gvr.Resource+"/"+o.Name, o.SealedBy.String(), "aesgcm:1")
		}
	}
	for _, o := range v.store.Stored(namespaces.GroupResource()) {
		want := "clear"
		if o.Name == "ns" {
			want = "aesgcm:1"
		}
		equal(t, "namespace "+o.Name, o.SealedBy.String(), want)
	}
	b.start(configuration("g1"), false)
	b.refused(b.request(apiserver.Get, pods, "p", sub("log")), 500, "InternalError",
		"Internal error occurred: StorageError: corrupt object, Code: 7, Key: /pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: identity transformer tried to read encrypted data")
}

// TestABackupBringsOldCiphertextBack, which needs the key that sealed it then.
func TestABackupBringsOldCiphertextBack(t *testing.T) {
	v := newVaulted(t)
	a := v.instance("a")
	a.start(configuration("g1", "i"), false)
	a.create(secrets, secret("kept", "old"))
	a.create(secrets, secret("gone", "x"))
	backup := v.store.Backup()
	a.start(configuration("g2", "g1", "i"), false)
	kept := a.get(secrets, "kept").(*corev1.Secret)
	kept.Data["password"] = []byte("new")
	a.update(secrets, kept)
	a.delete(secrets, "gone")
	a.create(secrets, secret("later", "x"))
	a.start(configuration("g2", "i"), false) // the old key is pruned
	if err := v.store.Restore(backup); err != nil {
		t.Fatal(err)
	}
	a.start(configuration("g2", "i"), false)
	equal(t, "stored", v.stored(), "gone=aesgcm:1 kept=aesgcm:1")
	a.refused(a.request(apiserver.Get, secrets, "kept"), 500, "InternalError", corruptSecret("kept", noKey))
	a.start(configuration("g2", "g1", "i"), false)
	equal(t, "what it says", string(a.get(secrets, "kept").(*corev1.Secret).Data["password"]), "old")
	equal(t, "a list", names(a.list(secrets)), "gone kept")
	a.refused(a.request(apiserver.Update, secrets, "kept", body(kept)), 409, "Conflict", strings.ReplaceAll(strings.ReplaceAll(modified, "configmaps", "secrets"), `"a"`, `"kept"`))
}
