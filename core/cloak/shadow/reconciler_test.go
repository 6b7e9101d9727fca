package shadow_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Section 2.2, rules 3 to 6: what a shadow is like.
func TestShadow(t *testing.T) {
	l := newLab(t)
	original := l.put("db", func(s *corev1.Secret) {
		data("user", "administrator", "password", horse)(s)
		s.Immutable = ptr.To(true)
		s.Type = corev1.SecretTypeBasicAuth
		s.Data["username"] = []byte("administrator")
	})
	s := l.reconcile("db")
	l.placeholderOf(s, "password", horse)
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "db-kloak", Labels: map[string]string{"getkloak.io/managed": "true", "getkloak.io/owner": "db"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Secret", Name: "db", UID: original.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
			UID: s.UID, ResourceVersion: s.ResourceVersion, CreationTimestamp: s.CreationTimestamp, ManagedFields: s.ManagedFields,
		},
		Type: corev1.SecretTypeBasicAuth, Data: s.Data,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if keys := slices.Sorted(maps.Keys(s.Data)); !slices.Equal(keys, []string{"password", "user", "username"}) {
		t.Errorf("keys %v", keys)
	}
	if got := l.condition("db"); got != "True Unrestricted" {
		t.Errorf("condition %s", got)
	}
	// Nothing more is written, S20 and the invariants of section 2.2.
	version := l.get("db").ResourceVersion
	if again := l.reconcile("db"); again.ResourceVersion != s.ResourceVersion || l.get("db").ResourceVersion != version {
		t.Error("another reconcile writes again")
	}
}

// Section 2.2, rule 6: types that look into their values become opaque.
func TestTypeOfShadow(t *testing.T) {
	l := newLab(t)
	l.put("pull", func(s *corev1.Secret) {
		s.Type = corev1.SecretTypeDockerConfigJson
		s.Data = map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"a.example.com":{"auth":"eDp5"}}}`)}
	})
	// JSON has characters that no placeholder can match.
	if s := l.reconcile("pull"); s != nil && s.Type != corev1.SecretTypeOpaque {
		t.Errorf("type %s", s.Type)
	}
	l.put("tls", func(s *corev1.Secret) {
		s.Type = corev1.SecretTypeTLS
		s.Data = map[string][]byte{corev1.TLSCertKey: []byte("certificate-of-ours"), corev1.TLSPrivateKeyKey: []byte("key-of-ours-1234")}
	})
	if s := l.reconcile("tls"); s == nil || s.Type != corev1.SecretTypeTLS {
		t.Errorf("the shadow of a Secret of TLS: %+v", s)
	}
}

// Section 2.2, rule 4, S6 and S7: what a rotation does to the placeholder.
func TestRotation(t *testing.T) {
	l := newLab(t)
	l.put("db", data("password", "Password-0001"))
	first := l.placeholderOf(l.reconcile("db"), "password", "Password-0001")
	step := func(row, value string, stays bool, previous ...string) string {
		t.Helper()
		before := string(l.get("db-kloak").Data["password"])
		l.put("db", data("password", value))
		s := l.reconcile("db")
		if now := l.placeholderOf(s, "password", value); (now == before) != stays {
			t.Errorf("%s: the placeholder stays: %t", row, now == before)
		}
		if diff := cmp.Diff(previous, shadow.Previous(s)["password"]); diff != "" {
			t.Errorf("%s: previous (-want +got):\n%s", row, diff)
		}
		return string(s.Data["password"])
	}
	step("the same lengths", "Passwerd-1002", true)
	second := step("other bits", "PASSWORD-0003", false, first)
	third := step("other bits again", "password-0003", false, second, first)
	step("and again: two are kept", "PassworD-8463", false, third, second)
	step("another length", "a-longer-Password", false)
	step("and back", "Password-0001", false)
	if n := len(l.events); n != 6 || !strings.Contains(l.events[1], "PlaceholderReplaced") {
		t.Errorf("events %q", l.events)
	}
}

// between is a reader that lets something happen after its first read.
type between struct {
	kube.Reader
	happens func()
}

func (b *between) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := b.Reader.Get(ctx, key, obj, opts...)
	if happens := b.happens; happens != nil {
		b.happens = nil
		happens()
	}
	return err
}

// Section 2.2, rule 4: a read may take long. When a Secret changes meanwhile, and another
// agent makes the shadow fit, it keeps fitting: Pods have its placeholder already.
func TestSecretChangesBetweenTheReads(t *testing.T) {
	l := newLab(t)
	l.put("db", data("password", "Password-0001"))
	l.reconcile("db")
	l.put("db", data("password", "a-longer-Password"))
	slow := *l.SecretReconciler
	var fits []byte
	slow.Cache = &between{l.kube, func() {
		l.put("db", data("password", "Password-0002"))
		fits = l.reconcile("db").Data["password"]
	}}
	if _, err := slow.Reconcile(l.ctx, request("db")); err != nil {
		t.Fatal(err)
	}
	if now := l.get("db-kloak").Data["password"]; !bytes.Equal(now, fits) {
		t.Errorf("the placeholder %q was replaced by %q", fits, now)
	}
}

func TestKeysComeAndGo(t *testing.T) {
	l := newLab(t)
	l.put("db", data("a", horse, "b", horse))
	before := l.reconcile("db").Data
	l.put("db", data("a", horse, "c", "another-value"))
	after := l.reconcile("db").Data
	if string(after["a"]) != string(before["a"]) || after["b"] != nil || after["c"] == nil {
		t.Errorf("%q became %q", before, after)
	}
	l.put("db", data())
	if s := l.reconcile("db"); s == nil || len(s.Data) != 0 {
		t.Errorf("without data: %+v", s)
	}
	l.put("empty", data())
	if s := l.reconcile("empty"); s != nil || l.condition("empty") != "False NoData" {
		t.Errorf("%+v, %s", s, l.condition("empty"))
	}
}

// Section 2.2, rule 3: one bad key and there is no shadow at all; and it comes back.
func TestBadValues(t *testing.T) {
	l := newLab(t)
	l.put("db", data("good", horse, "bad", "2short"))
	if s := l.reconcile("db"); s != nil {
		t.Errorf("a shadow: %q", s.Data)
	}
	want := "db Warning ValueTooShort: data[bad]: too short: it has 6 bytes and needs at least 8"
	if len(l.events) != 1 || l.events[0] != want {
		t.Errorf("events %q, want %q", l.events, want)
	}
	l.put("db", data("good", horse, "bad", "long-enough"))
	if s := l.reconcile("db"); s == nil {
		t.Error("no shadow after it was mended")
	}
	l.put("db", data("good", horse, "bad", strings.Repeat("Pass-w0r", 17)))
	if s := l.reconcile("db"); s != nil || l.condition("db") != "False ValueTooLong" {
		t.Errorf("a shadow is left: %v, %s", s, l.condition("db"))
	}
	// A rule that cannot be read takes no shadow away, and permits nothing.
	l.put("rule", func(s *corev1.Secret) { data("a", horse)(s); s.Annotations[cloak.AnnotationPort] = "0" })
	if s := l.reconcile("rule"); s == nil || l.condition("rule") != "False InvalidPort" {
		t.Errorf("%+v, %s", s, l.condition("rule"))
	}
}

// Section 2.2, rule 2.
func TestDisabled(t *testing.T) {
	l := newLab(t)
	disable := func(s *corev1.Secret) { s.Labels = nil }
	l.put("db", data("a", horse))
	l.reconcile("db")
	l.put("db", disable)
	if s := l.reconcile("db"); s != nil || l.condition("db") != "" {
		t.Errorf("%+v, %s", s, l.condition("db"))
	}
	l.put("held", func(s *corev1.Secret) { data("a", horse)(s); s.Finalizers = []string{"example.com/hold"} })
	l.reconcile("held")
	if err := l.kube.Delete(l.ctx, l.get("held")); err != nil {
		t.Fatal(err)
	}
	if s := l.reconcile("held"); s != nil {
		t.Errorf("a shadow of a Secret that is being deleted: %+v", s)
	}
	if s := l.reconcile("nothing"); s != nil {
		t.Errorf("a shadow of nothing: %+v", s)
	}
}

// I13 and S13: what is not ours is neither overwritten nor deleted, whatever it says of
// itself.
func TestForeign(t *testing.T) {
	for row, edit := range map[string]func(*corev1.Secret){
		"a Secret of somebody else": func(s *corev1.Secret) { s.Labels = nil },
		"it says that it is ours": func(s *corev1.Secret) {
			s.Labels = map[string]string{cloak.LabelManaged: "true", cloak.LabelOwner: "db"}
		},
		"it has another owner": func(s *corev1.Secret) {
			s.Labels = map[string]string{cloak.LabelManaged: "true", cloak.LabelOwner: "db"}
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "db", UID: "u", Controller: ptr.To(true)}}
		},
	} {
		l := newLab(t)
		l.put("db", data("a", horse))
		before := l.put("db-kloak", func(s *corev1.Secret) { data("theirs", "keep")(s); edit(s) })
		after := l.reconcile("db")
		if diff := cmp.Diff(before, after); diff != "" || l.condition("db") != "False ShadowConflict" {
			t.Errorf("%s: %s (-before +after):\n%s", row, l.condition("db"), diff)
		}
		l.put("db", func(s *corev1.Secret) { s.Labels = nil })
		if diff := cmp.Diff(before, l.reconcile("db")); diff != "" {
			t.Errorf("%s: disabled (-before +after):\n%s", row, diff)
		}
		if err := l.kube.Delete(l.ctx, after); err != nil {
			t.Fatal(err)
		}
		l.put("db", func(s *corev1.Secret) { s.Labels = map[string]string{cloak.AnnotationSecretEnabled: "true"} })
		if s := l.reconcile("db"); s == nil || !shadow.Owned(s, l.get("db")) {
			t.Errorf("%s: no shadow once it is gone", row)
		}
	}
}

// I12: the shadow of a Secret that had the name before is not taken over; the garbage
// collector deletes it.
func TestOrphan(t *testing.T) {
	l := newLab(t)
	first := l.put("db", data("a", horse))
	orphan := l.reconcile("db")
	if err := l.kube.Delete(l.ctx, first); err != nil {
		t.Fatal(err)
	}
	l.put("db", data("a", horse))
	s := l.reconcile("db")
	if s.UID == orphan.UID || string(s.Data["a"]) == string(orphan.Data["a"]) {
		t.Error("the placeholder of a Secret that is gone came back")
	}
}

// A cache that knows only the Secret of before must not make an agent delete the shadow
// of the one that has its name now.
func TestOrphanInAnOldCache(t *testing.T) {
	l := newLab(t)
	first := l.put("db", data("a", horse))
	old := l.snapshot()
	if err := l.kube.Delete(l.ctx, first); err != nil {
		t.Fatal(err)
	}
	l.put("db", data("a", horse))
	current := l.reconcile("db")
	old.secrets = append(old.secrets, *current)
	if _, err := l.agent(old, 2).Reconcile(l.ctx, request("db")); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(current, l.get("db-kloak")); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// I12, L8 and S12: of two that hold the same lookup key the younger gets a new
// placeholder, and the older is not touched. Both are asked, since either may have been
// seen first.
func TestDuplicates(t *testing.T) {
	l := newLab(t)
	l.put("old", data("a", horse))
	old := l.reconcile("old")
	l.clock.SetTime(l.clock.Now().Add(time.Minute))
	l.put("young", data("a", horse))
	young := l.reconcile("young")
	young.Data["a"] = old.Data["a"]
	if err := l.kube.Update(l.ctx, young); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, r := range l.Controller().Watches[0].Requests(l.ctx, l.get("old-kloak")) {
		asked = append(asked, r.Name)
	}
	if diff := cmp.Diff([]string{"old-kloak", "old", "young"}, asked); diff != "" {
		t.Errorf("an event of the older asks (-want +got):\n%s", diff)
	}
	if after := l.reconcile("old"); string(after.Data["a"]) != string(old.Data["a"]) {
		t.Error("the older was changed")
	}
	after := l.reconcile("young")
	if string(after.Data["a"]) == string(old.Data["a"]) || len(shadow.Previous(after)["a"]) != 0 {
		t.Errorf("the younger has %q, before it %q", after.Data["a"], shadow.Previous(after))
	}
	// The same within one Secret: the first key keeps it.
	l.put("two", data("a", horse, "b", horse))
	two := l.reconcile("two")
	two.Data["b"] = two.Data["a"]
	if err := l.kube.Update(l.ctx, two); err != nil {
		t.Fatal(err)
	}
	if after := l.reconcile("two"); string(after.Data["a"]) != string(two.Data["a"]) || string(after.Data["b"]) == string(two.Data["a"]) {
		t.Errorf("%q of %q", after.Data, two.Data)
	}
}

// S11: what was edited by hand is minted anew.
func TestEditedByHand(t *testing.T) {
	for _, edited := range []string{"", "short", "kl--!!!!!!!!!!!", "swordfish-sword", horse, "kl--aaaaaaaaaaaaaaaaaaa"} {
		l := newLab(t)
		l.put("db", data("a", horse))
		s := l.reconcile("db")
		s.Data["a"], s.Data["more"] = []byte(edited), []byte("x")
		s.Annotations = map[string]string{cloak.AnnotationPrevious: `{"a":["` + horse + `","kl--","kl--0123456789a"],"b":7}`}
		if err := l.kube.Update(l.ctx, s); err != nil {
			t.Fatal(err)
		}
		after := l.reconcile("db")
		l.placeholderOf(after, "a", horse)
		if len(after.Data) != 1 || len(shadow.Previous(after)) != 0 {
			t.Errorf("%q: %q, previous %v", edited, after.Data, shadow.Previous(after))
		}
	}
}

// Section 2.3: at least 16 tries, then an error and no shadow.
func TestNoKeyIsFree(t *testing.T) {
	l := newLab(t)
	l.Entropy = same{}
	l.put("a", data("k", horse))
	l.reconcile("a")
	l.put("b", data("k", horse))
	if _, err := l.Reconcile(l.ctx, request("b")); !errors.Is(err, shadow.ErrKeysTaken) || l.get("b-kloak") != nil {
		t.Errorf("%v, %v", err, l.get("b-kloak"))
	}
}

// Section 2.4, the race: Pods that were there before are told of.
func TestPodsThatHoldValues(t *testing.T) {
	l := newLab(t)
	for name, ref := range map[string]string{"api": "db", "web": "db", "other": "x"} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "i", EnvFrom: []corev1.EnvFromSource{{
				SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: ref}}}}}},
		}}
		if err := l.kube.Create(l.ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	l.put("db", data("a", horse))
	l.reconcile("db")
	want := "db Warning PodsHoldValues: Pods api, web were started before this Secret was protected and have its values; restart them"
	if !slices.Contains(l.events, want) {
		t.Errorf("events %q", l.events)
	}
}

// I12 and section 1, actors: agents on many nodes, each with a cache that lags behind,
// come to one shadow for each Secret, keep its placeholders, and end with no key held
// twice.
func TestManyAgents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(rt)
		names := []string{"a", "b", "c"}
		caches := []*snapshot{l.snapshot(), l.snapshot(), l.snapshot()}
		var agents []*shadow.SecretReconciler
		for _, cache := range caches {
			// All draw the same: collisions are what this is about.
			agents = append(agents, l.agent(cache, 9))
		}
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "agent")
			name := rapid.SampledFrom(names).Draw(rt, "name")
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				value := rapid.SampledFrom([]string{horse, "Password-0001", "correct-HORSE-2", "2short"}).Draw(rt, "value")
				l.put(name, data("k", value))
			case 1:
				*caches[i] = *l.snapshot()
			default:
				_, _ = agents[i].Reconcile(l.ctx, request(name)) // may fail on what is stale
			}
		}
		for range 3 {
			for i := range agents {
				for _, name := range names {
					*caches[i] = *l.snapshot()
					if _, err := agents[i].Reconcile(l.ctx, request(name)); err != nil {
						rt.Fatal(err)
					}
				}
			}
		}
		settled := l.snapshot()
		holders := map[placeholder.Key]string{}
		for i := range settled.secrets {
			s := &settled.secrets[i]
			if !shadow.Managed(s) {
				continue
			}
			original := l.get(s.Labels[cloak.LabelOwner])
			l.placeholderOf(s, "k", string(original.Data["k"]))
			key, _ := placeholder.KeyOf(string(s.Data["k"]))
			if other := holders[key]; other != "" {
				rt.Fatalf("%s and %s hold %s", other, s.Name, key)
			}
			holders[key] = s.Name
		}
		for _, agent := range agents {
			for _, name := range names {
				if _, err := agent.Reconcile(l.ctx, request(name)); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(settled.secrets, l.snapshot().secrets); diff != "" {
			rt.Fatalf("it does not settle (-before +after):\n%s", diff)
		}
	})
}

// An agent whose cache lags behind is too late for what it wants to write.
func TestLagsBehind(t *testing.T) {
	l := newLab(t)
	l.put("db", data("a", "Password-0001"))
	stale := l.snapshot()
	first := l.reconcile("db")
	l.put("db", data("a", "a-longer-Password"))
	second := l.reconcile("db")
	if _, err := l.agent(stale, 5).Reconcile(l.ctx, request("db")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, l.get("db-kloak")); diff != "" || string(first.Data["a"]) == string(second.Data["a"]) {
		t.Errorf("(-before +after):\n%s", diff)
	}
	// What it wants to delete is another object by now.
	stale = l.snapshot()
	for i := range stale.secrets {
		if stale.secrets[i].Name == "db" {
			stale.secrets[i].Labels = nil
		}
	}
	s := l.get("db-kloak")
	s.Annotations = map[string]string{"touched": "true"}
	if err := l.kube.Update(l.ctx, s); err != nil {
		t.Fatal(err)
	}
	if _, err := l.agent(stale, 5).Reconcile(l.ctx, request("db")); err != nil || l.get("db-kloak") == nil {
		t.Errorf("%v; there is a shadow: %t", err, l.get("db-kloak") != nil)
	}
}

var _ client.Reader = (*snapshot)(nil)

// Section 2.3: a Secret whose values are sent over HTTP/1.1 only says so, and gets a shadow
// for values that would be refused otherwise; its condition tells what that means.
func TestHTTP11Only(t *testing.T) {
	l := newLab(t)
	mixed := strings.Repeat("a", 16) + strings.Repeat("b", 4)
	l.put("db", data("a", mixed, "b", horse))
	if s := l.reconcile("db"); s != nil || l.condition("db") != "False ValueMix" {
		t.Errorf("without a word there is a shadow: %v, %s", s, l.condition("db"))
	}
	l.put("db", func(s *corev1.Secret) { s.Annotations[cloak.AnnotationHTTP] = "1.1" })
	s := l.reconcile("db")
	if s == nil || l.condition("db") != "True HTTP11Only" {
		t.Fatalf("%v, %s", s, l.condition("db"))
	}
	l.placeholderOf(s, "b", horse)
	if p := string(s.Data["a"]); placeholder.Fits(p, []byte(mixed)) != placeholder.FitsRaw {
		t.Errorf("%q fits %s", p, placeholder.Fits(p, []byte(mixed)))
	}
	if again := l.reconcile("db"); string(again.Data["a"]) != string(s.Data["a"]) {
		t.Error("it gets another placeholder each time")
	}
	l.put("db", data("a", "correct-horse-staple", "b", horse))
	l.placeholderOf(l.reconcile("db"), "a", "correct-horse-staple")
}
