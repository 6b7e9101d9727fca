package gossipkeys_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

func secretRequest() reconcile.Request { return reconcile.Request{NamespacedName: secretKey()} }

// handClock is a clock that moves only in Sleep, and tells someone.
type handClock struct {
	wallClock
	now     time.Time
	asleep  time.Duration // in all
	onSleep func()
}

func (c *handClock) Now() time.Time                  { return c.now }
func (c *handClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

func (c *handClock) Sleep(ctx context.Context, d time.Duration) error {
	c.now, c.asleep = c.now.Add(d), c.asleep+d
	if c.onSleep != nil {
		c.onSleep()
	}
	return ctx.Err()
}

// fleet is a Secret, some Nodes, and a Rotator.
type fleet struct {
	*memory
	t     testing.TB
	clock *handClock
	opts  []gossipkeys.Option
	names []string
}

// newFleet has a Secret with the list, which all the nodes report.
func newFleet(t testing.TB, list string, names ...string) *fleet {
	f := &fleet{memory: newMemory(), t: t, clock: &handClock{now: time.Unix(1e9, 0)}, names: names}
	f.putSecret(t, text(list))
	for _, name := range names {
		f.putNode(name, nil)
	}
	f.report(names...)
	f.calls = nil
	return f
}

// rotator makes a new Rotator, as a process does that starts.
func (f *fleet) rotator() *gossipkeys.Rotator {
	return gossipkeys.NewRotator(f, f, f.clock, &alphabet{drawn: 32 * 13}, namespace, f.opts...) // keys n, o, …
}

// report makes nodes report what the Secret holds now.
func (f *fleet) report(names ...string) {
	f.t.Helper()
	s := f.secret()
	ks, err := gossipkeys.ParseKeys(s.Data["keys"])
	if err != nil {
		f.t.Fatal(err)
	}
	var v gossipkeys.Version
	v.UID = s.UID
	if text, ok := s.Annotations[gossipkeys.GenerationAnnotation]; ok {
		_ = json.Unmarshal([]byte(text), &v.Generation)
	}
	for _, name := range names {
		f.reports(name, gossipkeys.Report{Version: v, Keys: ks.Unique().Fingerprints(), Time: f.clock.now})
	}
}

func (f *fleet) reports(name string, r gossipkeys.Report) {
	text, err := json.Marshal(r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.putNode(name, func(n *corev1.Node) {
		n.Annotations = map[string]string{gossipkeys.ReportAnnotation: string(text)}
	})
}

// ready sets the Ready condition of a node, as of now.
func (f *fleet) ready(name string, status corev1.ConditionStatus) {
	f.putNode(name, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(f.clock.now),
		}}
	})
}

// list is the letters in the Secret.
func (f *fleet) list() string {
	f.t.Helper()
	ks, err := gossipkeys.ParseKeys(f.secret().Data["keys"])
	if err != nil {
		f.t.Fatal(err)
	}
	return letters(ks)
}

func (f *fleet) wantList(want string) {
	f.t.Helper()
	if got := f.list(); got != want {
		f.t.Errorf("the Secret holds %s, want %s", got, want)
	}
}

// do calls a method that must succeed.
func (f *fleet) do(method func(context.Context) error) {
	f.t.Helper()
	if err := method(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// advance calls Advance on a Rotator that has just started, and checks the list
// and the phase afterwards.
func (f *fleet) advance(list string, phase gossipkeys.Phase) gossipkeys.Progress {
	f.t.Helper()
	p, err := f.rotator().Advance(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	f.wantList(list)
	if p.Phase != phase {
		f.t.Errorf("phase %s, want %s", p.Phase, phase)
	}
	return p
}
