package secretsync_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/secretsync"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

func use(names ...string) (uses []secretsync.Use) {
	for _, n := range names {
		uses = append(uses, secretsync.Use{NamespacedName: nameOf(n)})
	}
	return uses
}

// want compares what the kernel has.
func (l *lab) want(row, loaded, vips, grants string) {
	l.Helper()
	got := []string{l.loaded(), l.vips(), l.grants()}
	if diff := cmp.Diff([]string{loaded, vips, grants}, got); diff != "" {
		l.Errorf("%s: loaded, virtual IPs, grants (-want +got):\n%s", row, diff)
	}
}

// Section 2.6 from the first Secret to the last, S4, S6, S9, S10 and L4.
func TestSync(t *testing.T) {
	l := newLab(t)
	if err := l.Bind(t.Context(), 7, use("db")); err != nil {
		t.Fatal(err)
	}
	l.put("db", horse, "a.com", "443")
	l.put("any", "another-value", "", "")
	l.sync()
	l.want("start", "any=another-value→*: db="+horse+"→a.com:443/tcp", "used a.com", "7:db")
	l.sync()
	if diff := cmp.Diff([]string{"store virtual IPs"}, l.calls); diff != "" {
		t.Errorf("nothing has changed (-want +got):\n%s", diff)
	}

	l.put("db", "correct-horse-2", "a.com", "443")
	l.sync()
	l.want("S6: rotated in place", "any=another-value→*: db=correct-horse-2→a.com:443/tcp", "used a.com", "7:db")

	l.put("db", "correct-horse-0", "b.com", "443")
	l.sync()
	l.want("S9: another host", "any=another-value→*: db=correct-horse-0→b.com:443/tcp", "retained a.com, used b.com", "7:db")
	first, last := slices.Index(l.calls, "delete entry"), slices.Index(l.calls, "load entry")
	published := slices.Index(l.calls, "store virtual IPs")
	if first < 0 || first > published || published > last || slices.Index(l.calls, "set grants") > first {
		t.Errorf("order %q", l.calls)
	}

	l.put("db", "correct-horse-0", "", "443")
	l.sync()
	l.want("S10: every host", "any=another-value→*: db=correct-horse-0→*:443/tcp", "retained a.com, retained b.com", "7:db")
	if slices.Contains(l.calls, "delete entry") {
		t.Errorf("what only gets wider is not taken away in between: %q", l.calls)
	}

	l.put("db", "correct-horse-0", "a.com,b.com", "443")
	l.sync()
	l.want("a rule that cannot be read", "any=another-value→*:", "retained a.com, retained b.com", "")
	if diff := cmp.Diff([]string{"db InvalidHosts"}, l.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	l.sync()
	if len(l.events) != 0 {
		t.Errorf("told again: %q", l.events)
	}

	l.put("db", "correct-horse-0", "a.com", "443")
	l.sync()
	l.want("mended", "any=another-value→*: db=correct-horse-0→a.com:443/tcp", "used a.com, retained b.com", "7:db")

	l.delete("db")
	l.delete("any")
	l.sync()
	l.want("S36: a list that is empty", "", "retained a.com, retained b.com", "")
	l.clock.now += 2 * time.Hour
	l.sync()
	l.want("L7: retention is over", "", "quarantined, quarantined", "")
	l.clock.now += 2 * time.Hour
	l.sync()
	l.want("and quarantine", "", "", "")
}

// S36 and I4: a list that fails changes nothing, and a call that fails ends the sync
// before anything gets wider.
func TestFailures(t *testing.T) {
	for _, failing := range []string{"list", "read entries", "read grants", "set grants", "delete entry", "load virtual IPs", "read sockets", "store virtual IPs"} {
		l := newLab(t)
		l.put("old", horse, "a.com", "")
		l.put("narrow", "narrow-value-1", "", "")
		l.sync()
		if err := l.Bind(t.Context(), 7, use("old", "narrow")); err != nil {
			t.Fatal(err)
		}
		l.put("new", "another-value", "n.com", "")
		l.put("narrow", "narrow-value-1", "n.com", "")
		l.delete("old")
		if failing == "load virtual IPs" {
			l.restart()
		}
		l.cut, l.failing = failing == "list", failing
		if err := l.Sync(t.Context()); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", failing, err)
		}
		l.cut, l.failing = false, ""
		if loaded := l.loaded(); strings.Contains(loaded, "n.com") || failing == "list" && strings.Count(loaded, "=") != 2 {
			t.Errorf("%s fails: %s", failing, loaded)
		}
		l.sync()
		if got := l.loaded(); got != "narrow=narrow-value-1→n.com: new=another-value→n.com:" {
			t.Errorf("after %s failed: %s", failing, got)
		}
	}
}

// Section 2.6: what is skipped, and never without its rule.
func TestSkipped(t *testing.T) {
	for _, tc := range []struct {
		row   string
		edit  func(l *lab)
		event string
	}{
		{"another length than the shadow", func(l *lab) {
			l.change("db", func(s *corev1.Secret) { s.Data["k"] = []byte(horse + "2") })
		}, "db StalePlaceholder"},
		{"no placeholder", func(l *lab) {
			l.change("db-kloak", func(s *corev1.Secret) { s.Data["k"] = []byte("swordfish-12345") })
		}, "db StalePlaceholder"},
		{"129 bytes", func(l *lab) {
			l.change("db", func(s *corev1.Secret) { s.Data["k"] = []byte(strings.Repeat("Pass-w0r", 16) + "d") })
		}, "db ValueTooLong"},
		{"an invalid port", func(l *lab) {
			l.change("db", func(s *corev1.Secret) { s.Annotations[cloak.AnnotationPort] = "http" })
		}, "db InvalidPort"},
		{"an over-long host", func(l *lab) {
			l.change("db", func(s *corev1.Secret) { s.Annotations[cloak.AnnotationHosts] = strings.Repeat("a", 64) })
		}, "db InvalidHosts"},
		{"disabled", func(l *lab) { l.change("db", func(s *corev1.Secret) { s.Labels = nil }) }, ""},
		{"the shadow is somebody else's", func(l *lab) {
			l.change("db-kloak", func(s *corev1.Secret) { s.OwnerReferences[0].UID = "other" })
		}, ""},
		{"the shadow is not managed", func(l *lab) { l.change("db-kloak", func(s *corev1.Secret) { s.Labels = nil }) }, ""},
		{"no shadow", func(l *lab) { l.delete("db-kloak") }, ""},
		{"the key is not in the shadow", func(l *lab) { l.change("db-kloak", func(s *corev1.Secret) { s.Data = nil }) }, ""},
	} {
		l := newLab(t)
		l.put("db", horse, "a.com", "443")
		l.sync()
		tc.edit(l)
		l.sync()
		if got := l.loaded(); got != "" {
			t.Errorf("%s: %s is loaded", tc.row, got)
		}
		if got := strings.Join(l.events, ", "); got != tc.event {
			t.Errorf("%s: events %q, want %q", tc.row, got, tc.event)
		}
	}
}

// I12 and S12: of two with one lookup key neither is loaded, until one has another.
func TestDuplicates(t *testing.T) {
	l := newLab(t)
	l.put("a", horse, "", "")
	l.put("b", horse, "", "")
	l.put("c", horse, "", "")
	l.sync()
	l.change("b-kloak", func(s *corev1.Secret) { s.Data = l.get("a-kloak").Data })
	l.sync()
	if got := l.loaded(); got != "c="+horse+"→*:" {
		t.Errorf("loaded %s", got)
	}
	if diff := cmp.Diff([]string{"a DuplicatePlaceholder", "b DuplicatePlaceholder"}, sorted(l.events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	l.reconcile("a")
	l.reconcile("b")
	l.sync()
	if got := l.loaded(); strings.Count(got, "=") != 3 {
		t.Errorf("loaded %s", got)
	}
}

// A placeholder is in doubt also if the other that has it does not fit, and is not loaded
// anyway: a Pod that may use both would get the one in place of the other.
func TestDuplicateThatDoesNotFit(t *testing.T) {
	l := newLab(t)
	l.put("a", horse, "", "")
	l.put("b", horse+horse, "", "")
	l.sync()
	l.change("b-kloak", func(s *corev1.Secret) { s.Data = l.get("a-kloak").Data })
	l.sync()
	if got := l.loaded(); got != "" {
		t.Errorf("loaded %s", got)
	}
	l.reconcile("b")
	l.sync()
	if got := l.loaded(); strings.Count(got, "=") != 2 {
		t.Errorf("loaded %s", got)
	}
}

// Section 2.2, rule 4: placeholders of before stay good.
func TestPrevious(t *testing.T) {
	l := newLab(t)
	l.put("db", "Password-0001", "", "")
	old := string(l.get("db-kloak").Data["k"])
	l.put("db", "PASSWORD-0002", "", "")
	l.sync()
	entries, err := l.kernel.Entries(t.Context())
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	if !slices.ContainsFunc([]string{entries[0].Placeholder, entries[1].Placeholder}, func(p string) bool { return p == old }) {
		t.Errorf("the placeholder of before is not loaded")
	}
	l.put("db", "longer-PASSWORD-0002", "", "")
	l.sync()
	if got := l.loaded(); got != "db=longer-PASSWORD-0002→*:" {
		t.Errorf("after another length: %s", got)
	}
}

// S34, I9: what finds no room is told of, and the others are not affected.
func TestMapFull(t *testing.T) {
	limits := kernel.DefaultLimits
	limits.Entries = 2
	l := newLabOf(t, limits)
	for _, name := range []string{"a", "b", "c"} {
		l.put(name, horse, "", "")
	}
	l.sync()
	if got := l.loaded(); strings.Count(got, "=") != 2 || len(l.events) != 1 || !strings.HasSuffix(l.events[0], " MapFull") {
		t.Errorf("%s, events %q", got, l.events)
	}
	l.delete("a")
	l.delete("b")
	l.sync()
	if got := l.loaded(); got != "c="+horse+"→*:" {
		t.Errorf("once there is room: %s", got)
	}
}

// Section 2.5, binding, and I3: who may use what, also as that changes.
func TestBind(t *testing.T) {
	l := newLab(t)
	l.put("a", horse, "", "")
	l.sync()
	l.put("b", horse, "", "")
	step := func(row, want string, err error) {
		t.Helper()
		if got := l.grants(); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", row, got, err, want)
		}
	}
	step("b is not loaded yet, so it is", "1:a 1:b", l.Bind(t.Context(), 1, use("a", "b")))
	step("one", "1:a 1:b 2:a", l.Bind(t.Context(), 2, use("a")))
	step("none", "1:a 1:b 2:a", l.Bind(t.Context(), 3, nil))
	step("a key that it has", "1:a 1:b 2:a 3:a", l.Bind(t.Context(), 3, []secretsync.Use{{NamespacedName: nameOf("a"), Keys: []string{"k"}}}))
	step("a key that it has not", "1:a 1:b 2:a", l.Bind(t.Context(), 3, []secretsync.Use{{NamespacedName: nameOf("a"), Keys: []string{"x"}}}))
	step("another", "1:b 2:a", l.Bind(t.Context(), 1, use("b")))
	other := secretsync.Use{NamespacedName: nameOf("a")}
	other.Namespace = "other"
	step("another namespace", "1:b", l.Bind(t.Context(), 2, []secretsync.Use{other}))
	step("unbound", "", l.Unbind(t.Context(), 1))
	l.sync()
	step("and it stays so", "", nil)
	step("bound to what is not there", "", l.Bind(t.Context(), 1, use("c")))
	l.put("c", horse, "", "")
	l.sync()
	step("until it is", "1:c", nil)
	l.failing = "set grants"
	if err := l.Unbind(t.Context(), 1); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	l.failing = ""
	l.sync()
	step("unbound, though it failed", "", nil)
}

// L2: a container starts before the cache has its Secret; it is waited for, a little.
func TestBindWaitsForTheCache(t *testing.T) {
	l := newLab(t)
	l.sync()
	l.clock.meanwhile = func() {
		l.clock.meanwhile = nil
		l.put("db", horse, "", "")
	}
	if err := l.Bind(t.Context(), 1, use("db")); err != nil || l.grants() != "1:db" || l.clock.now != 50*time.Millisecond {
		t.Errorf("%v, %s after %s", err, l.grants(), l.clock.now)
	}
	before := l.clock.now
	if err := l.Bind(t.Context(), 1, use("none")); err != nil || l.clock.now-before != 500*time.Millisecond {
		t.Errorf("%v; what never comes is waited for %s", err, l.clock.now-before)
	}
	l.put("bad", horse, "a.com,b.com", "")
	before = l.clock.now
	if err := l.Bind(t.Context(), 1, use("bad")); err != nil || l.clock.now != before {
		t.Errorf("%v; what is there and cannot be loaded is waited for %s", err, l.clock.now-before)
	}
}

// S20 and section 3.8: an agent that starts again leaves grants to containers that it
// does not know yet, takes what has gone meanwhile, and keeps virtual IPs.
func TestRestart(t *testing.T) {
	l := newLab(t)
	l.put("a", horse, "a.com", "")
	l.put("b", horse, "b.com", "")
	l.sync()
	for cg, name := range map[policy.Cgroup]string{1: "a", 2: "b"} {
		if err := l.Bind(t.Context(), cg, use(name)); err != nil {
			t.Fatal(err)
		}
	}
	rows, _ := l.kernel.LoadVIPs(t.Context())
	l.delete("b")
	l.restart()
	l.sync()
	l.want("after the first sync", "a="+horse+"→a.com:", "used a.com, retained b.com", "1:a")
	after, _ := l.kernel.LoadVIPs(t.Context())
	for i := range rows {
		if rows[i].V4 != after[i].V4 || rows[i].Host != after[i].Host {
			t.Errorf("virtual IPs %v became %v", rows, after)
		}
	}
	if err := l.Bind(t.Context(), 9, use("a")); err != nil {
		t.Fatal(err)
	}
	l.want("one container is known", "a="+horse+"→a.com:", "used a.com, retained b.com", "1:a 9:a")
	if err := l.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.want("all are", "a="+horse+"→a.com:", "used a.com, retained b.com", "9:a")
}

// Section 2.6: maps that drifted come right with the next sync.
func TestDrift(t *testing.T) {
	l := newLab(t)
	l.put("a", horse, "", "")
	l.put("b", "another-value", "b.com", "")
	l.sync()
	want := l.loaded()
	entries, err := l.kernel.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	drifted := entries[0]
	drifted.Owner.Key, drifted.Rule.Port = "x", entries[1].Rule.Port
	if err := l.kernel.PutEntry(t.Context(), drifted); err != nil {
		t.Fatal(err)
	}
	if err := l.kernel.DeleteEntry(t.Context(), entries[1].Key()); err != nil {
		t.Fatal(err)
	}
	l.sync()
	if got := l.loaded(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Section 2.6, the reconciler: one request for all, and the time until the next.
func TestReconciler(t *testing.T) {
	synced := 0
	var fails error
	r := &secretsync.SecretSyncReconciler{Sync: func(context.Context) error { synced++; return fails }}
	c := r.Controller()
	requests := map[string]int{}
	for name, s := range map[string]*corev1.Secret{"enabled": {}, "shadow": {}, "other": {}} {
		s.Name = name
		s.Labels = map[string]map[string]string{"enabled": {cloak.AnnotationSecretEnabled: "true"}, "shadow": {cloak.LabelManaged: "true"}}[name]
		for _, req := range c.Watches[0].Requests(t.Context(), client.Object(s)) {
			requests[req.String()]++
		}
	}
	if diff := cmp.Diff(map[string]int{c.Start[0].String(): 2}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if result, err := r.Reconcile(t.Context(), c.Start[0]); err != nil || result != (reconcile.Result{RequeueAfter: cloak.DefaultSecretResyncPeriod}) || synced != 1 {
		t.Errorf("%+v, %v, %d", result, err, synced)
	}
	r.ResyncPeriod, fails = time.Minute, errBroken
	if result, err := r.Reconcile(t.Context(), c.Start[0]); !errors.Is(err, errBroken) || result != (reconcile.Result{}) {
		t.Errorf("%+v, %v", result, err)
	}
	fails = nil
	if result, _ := r.Reconcile(t.Context(), c.Start[0]); result.RequeueAfter != time.Minute {
		t.Errorf("%+v", result)
	}
}
