package gossipkeys_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// Section 9.1 from start to end: a step, then nothing until the last node has
// reported it, then the next.
func TestRotation(t *testing.T) {
	f := newFleet(t, "K", "x", "y")
	f.do(f.rotator().Start)
	f.wantList("Kn")
	for _, step := range []struct{ before, after string }{{"Kn", "nK"}, {"nK", "n"}} {
		f.advance(step.before, gossipkeys.PhaseForward)
		f.report("x")
		p := f.advance(step.before, gossipkeys.PhaseForward)
		if !slices.Equal(p.Waiting(), []string{"y"}) || p.Converged {
			t.Errorf("waits for %v", p.Waiting())
		}
		f.report("y")
		p, err := f.rotator().Advance(t.Context())
		if err != nil || p.Done() {
			t.Fatalf("%v, %v", p, err)
		}
		f.wantList(step.after)
	}
	f.advance("n", gossipkeys.PhaseFinished)
	f.report("x", "y")
	if p := f.advance("n", gossipkeys.PhaseFinished); !p.Done() || p.Version.Generation != 3 || p.Step != gossipkeys.StepDropped {
		t.Errorf("not done: %v", p)
	}
	if f.clock.asleep != gossipkeys.SettleTime {
		t.Errorf("waited %v for streams, want %v once, before the drop", f.clock.asleep, gossipkeys.SettleTime)
	}
	if got := f.writesTo("secret"); got != 3 {
		t.Errorf("%d writes, want 3", got)
	}

	f.do(f.rotator().Start) // the next one: n again, o is the first that differs
	f.wantList("no")
}

// writesTo counts the writes to a kind.
func (m *memory) writesTo(kind string) int {
	count := 0
	for _, c := range m.calls {
		if c == "update "+kind || c == "create "+kind || c == "patch "+kind {
			count++
		}
	}
	return count
}

// The gate is looked at again when the settle time is over: whoever came, or
// fell back, meanwhile counts too.
func TestDropLooksAgainAfterSettling(t *testing.T) {
	f := newFleet(t, "K", "x")
	f.do(f.rotator().Start)
	f.report("x")
	f.advance("nK", gossipkeys.PhaseForward)
	f.report("x")
	f.clock.onSleep = func() { f.putNode("newcomer", nil) }
	if p := f.advance("nK", gossipkeys.PhaseForward); !slices.Equal(p.Waiting(), []string{"newcomer"}) {
		t.Errorf("waits for %v", p.Waiting())
	}
}

func TestStartRefuses(t *testing.T) {
	for _, tc := range []struct {
		name  string
		setup func(f *fleet)
		want  error
	}{
		{"a node behind", func(f *fleet) { f.putSecret(f.t, text("L")) }, gossipkeys.ErrNotConverged},
		{"a node that never reported", func(f *fleet) { f.putNode("z", nil) }, gossipkeys.ErrNotConverged},
		{"an unreadable report", func(f *fleet) {
			f.putNode("x", func(n *corev1.Node) { n.Annotations[gossipkeys.ReportAnnotation] = "{" })
		}, gossipkeys.ErrNotConverged},
		{"a report on an earlier Secret", func(f *fleet) { f.deleteSecret(); f.putSecret(f.t, text("K")) }, gossipkeys.ErrNotConverged},
		{"no node at all", func(f *fleet) { f.opts = append(f.opts, gossipkeys.WithNodes(labels.Nothing())) }, gossipkeys.ErrNotConverged},
		{"invalid data", func(f *fleet) { f.putSecret(f.t, "garbage") }, gossipkeys.ErrInvalidData},
		{"a rotation under way", func(f *fleet) { f.do(f.rotator().Start); f.report("x", "y") }, gossipkeys.ErrRotating},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFleet(t, "K", "x", "y")
			tc.setup(f)
			before := f.secret()
			if err := f.rotator().Start(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if diff := cmp.Diff(before, f.secret()); diff != "" {
				t.Errorf("the Secret changed:\n%s", diff)
			}
		})
	}
	f := newFleet(t, "K", "x")
	f.deleteSecret()
	if err := f.rotator().Start(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("no Secret: %v", err)
	}
}

func TestStartNeedsEntropyThatVaries(t *testing.T) {
	f := newFleet(t, "K", "x")
	for _, entropy := range []string{"", strings.Repeat("K", 1000)} {
		r := gossipkeys.NewRotator(f, f, f.clock, strings.NewReader(entropy), namespace)
		if err := r.Start(t.Context()); err == nil {
			t.Errorf("%d bytes: no error", len(entropy))
		}
	}
	f.wantList("K")
}

func TestSettleTimeIsAnOption(t *testing.T) {
	f := newFleet(t, "KL", "x")
	f.opts = append(f.opts, gossipkeys.WithSettleTime(time.Second))
	f.clock.onSleep = func() { f.putNode("newcomer", nil) }
	if err := f.rotator().Edit(t.Context(), keys("K")); !errors.Is(err, gossipkeys.ErrNotConverged) || f.clock.asleep != time.Second {
		t.Errorf("got %v after %v", err, f.clock.asleep)
	}
}

func TestStartWith(t *testing.T) {
	f := newFleet(t, "K", "x")
	for _, bad := range []gossipkeys.Key{{}, key('K')} {
		if err := f.rotator().StartWith(t.Context(), bad); !errors.Is(err, gossipkeys.ErrUnsafeEdit) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := f.rotator().StartWith(t.Context(), sizedKey('P', 16)); err != nil {
		t.Error(err)
	}
	f.wantList("KP")
}

// Aborting walks back one step at a time, and the step before is open without
// anybody's report: that is what an abort is for.
func TestAbort(t *testing.T) {
	f := newFleet(t, "K", "x", "y")
	f.do(f.rotator().Start)
	f.report("x", "y")
	f.advance("nK", gossipkeys.PhaseForward)
	f.report("x") // y cannot follow
	f.do(f.rotator().Abort)
	f.wantList("nK")
	f.advance("Kn", gossipkeys.PhaseBack)

	// Now x may still write with n, so the next step is not open.
	f.advance("Kn", gossipkeys.PhaseBack)
	f.report("y")
	f.advance("Kn", gossipkeys.PhaseBack)
	f.report("x")
	f.advance("K", gossipkeys.PhaseAborted)
	if f.clock.asleep != gossipkeys.SettleTime {
		t.Errorf("waited %v for streams that n encrypted", f.clock.asleep)
	}
	f.report("x", "y")
	if p := f.advance("K", gossipkeys.PhaseAborted); !p.Done() {
		t.Errorf("not done: %v", p)
	}
	if err := f.rotator().Abort(t.Context()); !errors.Is(err, gossipkeys.ErrNotRotating) {
		t.Errorf("nothing is left to abort: %v", err)
	}
	f.do(f.rotator().Start)
	f.wantList("Kn")
}

// A node that reported a list before it was left and came back to has not
// reported it now: the versions differ.
func TestAbortIsNotFooledByOldReports(t *testing.T) {
	f := newFleet(t, "K", "x")
	f.do(f.rotator().Start)
	f.report("x") // K n, generation 1
	f.advance("nK", gossipkeys.PhaseForward)
	f.do(f.rotator().Abort)
	f.advance("Kn", gossipkeys.PhaseBack) // generation 3; x is at generation 2, unreported
	if p := f.advance("Kn", gossipkeys.PhaseBack); !slices.Equal(p.Waiting(), []string{"x"}) {
		t.Errorf("takes a report of generation 1 for one of 3: %v", p)
	}
}

func TestAbortBeforeAnybodyUsedTheKey(t *testing.T) {
	f := newFleet(t, "K", "x")
	f.do(f.rotator().Start)
	f.do(f.rotator().Abort)
	f.do(f.rotator().Abort) // again changes nothing
	f.advance("K", gossipkeys.PhaseAborted)
	if f.clock.asleep != 0 || f.writesTo("secret") != 3 {
		t.Errorf("waited %v, wrote %d times", f.clock.asleep, f.writesTo("secret"))
	}
}

func TestResume(t *testing.T) {
	f := newFleet(t, "K", "x")
	f.do(f.rotator().Start)
	f.report("x")
	f.advance("nK", gossipkeys.PhaseForward)
	f.do(f.rotator().Abort)
	f.advance("Kn", gossipkeys.PhaseBack)
	f.do(f.rotator().Resume)
	f.advance("nK", gossipkeys.PhaseForward) // the list before: open
	f.advance("nK", gossipkeys.PhaseForward)
	f.report("x")
	f.advance("n", gossipkeys.PhaseFinished)
	if err := f.rotator().Resume(t.Context()); !errors.Is(err, gossipkeys.ErrNotRotating) {
		t.Errorf("got %v", err)
	}
}

// The rule for nodes that are away.
func TestNodesThatAreAway(t *testing.T) {
	f := newFleet(t, "K", "x", "y")
	f.do(f.rotator().Start)
	f.report("x")
	f.ready("y", corev1.ConditionUnknown)
	f.clock.now = f.clock.now.Add(gossipkeys.GoneAfter - time.Minute)
	if p := f.advance("Kn", gossipkeys.PhaseForward); p.Recheck != time.Minute || !slices.Equal(p.Waiting(), []string{"y"}) {
		t.Errorf("waits for %v, looks again in %v", p.Waiting(), p.Recheck)
	}
	f.ready("y", corev1.ConditionTrue) // it was there for a moment
	f.clock.now = f.clock.now.Add(gossipkeys.GoneAfter)
	f.advance("Kn", gossipkeys.PhaseForward)
	f.ready("y", corev1.ConditionFalse)
	f.advance("Kn", gossipkeys.PhaseForward)
	f.clock.now = f.clock.now.Add(gossipkeys.GoneAfter)
	p := f.advance("nK", gossipkeys.PhaseForward)

	// Back again, it counts again.
	f.report("x")
	f.ready("y", corev1.ConditionTrue)
	f.advance("nK", gossipkeys.PhaseForward)
	f.report("y")
	f.advance("n", gossipkeys.PhaseFinished)
	if !strings.Contains(p.String(), "y  gone") {
		t.Errorf("progress hides the node that is gone:\n%s", p)
	}
}

func TestGoneAfterZeroWaitsForEver(t *testing.T) {
	f := newFleet(t, "K", "x", "y")
	f.opts = append(f.opts, gossipkeys.WithGoneAfter(0))
	f.do(f.rotator().Start)
	f.report("x")
	f.ready("y", corev1.ConditionFalse)
	f.clock.now = f.clock.now.Add(1000 * time.Hour)
	if p := f.advance("Kn", gossipkeys.PhaseForward); p.Recheck != 0 {
		t.Errorf("looks again in %v", p.Recheck)
	}
}

func TestDeletedNodesDoNotCount(t *testing.T) {
	f := newFleet(t, "K", "x", "y")
	f.do(f.rotator().Start)
	f.report("x")
	if err := f.Delete(t.Context(), &corev1.Node{ObjectMeta: nameOnly("y")}); err != nil {
		t.Fatal(err)
	}
	f.advance("nK", gossipkeys.PhaseForward)
}

func TestSelectorLeavesNodesAlone(t *testing.T) {
	f := newFleet(t, "K", "x", "windows")
	f.putNode("x", func(n *corev1.Node) { n.Labels = map[string]string{"agent": "yes"} })
	f.opts = append(f.opts, gossipkeys.WithNodes(labels.SelectorFromSet(labels.Set{"agent": "yes"})))
	f.do(f.rotator().Start)
	f.report("x")
	f.advance("nK", gossipkeys.PhaseForward)
}

// An edit by hand stops the rotation, and a new one may begin once all nodes
// report what is there.
func TestEditByHandStopsTheRotation(t *testing.T) {
	f := newFleet(t, "K", "x")
	f.do(f.rotator().Start)
	f.change(t, func(s *corev1.Secret) { s.Data["keys"] = []byte(text("KnU")) })
	f.report("x")
	f.advance("KnU", gossipkeys.PhaseEdited)
	if err := f.rotator().Abort(t.Context()); !errors.Is(err, gossipkeys.ErrNotRotating) {
		t.Errorf("got %v", err)
	}
	f.do(f.rotator().Start)
	f.wantList("KnUo") // a key no report could confuse with n
	f.report("x")
	f.advance("oKnU", gossipkeys.PhaseForward)
	f.report("x")
	f.advance("o", gossipkeys.PhaseFinished)
}

// Edit is for people: one safe edit at a time, or none.
func TestEdit(t *testing.T) {
	f := newFleet(t, "K", "x")
	edit := func(list string) error { return f.rotator().Edit(t.Context(), keys(list)) }
	if err := edit("LK"); !errors.Is(err, gossipkeys.ErrUnsafeEdit) {
		t.Errorf("the new key on top: %v", err)
	}
	if err := edit("KL"); err != nil {
		t.Error(err)
	}
	if err := edit("LK"); !errors.Is(err, gossipkeys.ErrNotConverged) {
		t.Errorf("before all have it: %v", err)
	}
	f.report("x")
	if err := edit("LK"); err != nil || f.clock.asleep != 0 {
		t.Errorf("got %v after %v", err, f.clock.asleep)
	}
	f.report("x")
	if err := edit("L"); err != nil || f.clock.asleep != gossipkeys.SettleTime {
		t.Errorf("got %v after %v", err, f.clock.asleep)
	}
	f.wantList("L")
	f.report("x")
	f.do(f.rotator().Start)
	if err := edit("L"); !errors.Is(err, gossipkeys.ErrRotating) {
		t.Errorf("during a rotation: %v", err)
	}
}

// The Rotator keeps the rest of the Secret, and its writes are optimistic.
func TestWritesAreOptimisticAndKeepTheRest(t *testing.T) {
	f := newFleet(t, "K", "x")
	f.change(t, func(s *corev1.Secret) { s.Data["other"] = []byte("kept"); s.Labels = map[string]string{"l": "kept"} })
	f.before = once("update", func() { f.change(t, func(s *corev1.Secret) { s.Data["other"] = []byte("newer") }) })
	if err := f.rotator().Start(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	f.wantList("K")
	f.do(f.rotator().Start)
	s := f.secret()
	if f.list() != "Kn" || string(s.Data["other"]) != "newer" || s.Labels["l"] != "kept" {
		t.Errorf("list %s, other %s, labels %v", f.list(), s.Data["other"], s.Labels)
	}
}

// A crash before or after any write, or a lost answer, leaves a rotation that
// the next process carries on with: here each write goes wrong once, each way.
func TestRotationSurvivesTroubleAtEveryWrite(t *testing.T) {
	for _, applied := range []bool{false, true} {
		for failAt := 1; failAt <= 3; failAt++ {
			t.Run(fmt.Sprintf("write %d, applied %t", failAt, applied), func(t *testing.T) {
				f := newFleet(t, "K", "x", "y")
				n := 0
				trouble := func(verb string, _ any) error {
					if verb == "update" {
						n++
						if n == failAt {
							return errTimeout
						}
					}
					return nil
				}
				if applied {
					f.after = trouble
				} else {
					f.before = trouble
				}
				for range 12 {
					r := f.rotator()
					if err := r.Start(t.Context()); err == nil || errors.Is(err, gossipkeys.ErrRotating) || apierrors.IsTimeout(err) {
						break
					}
				}
				if !applied && failAt == 1 {
					f.do(f.rotator().Start)
				}
				for range 12 {
					f.report("x", "y")
					if p, err := f.rotator().Advance(t.Context()); err == nil && p.Done() {
						break
					}
				}
				f.wantList("n")
				if v := f.secret().Annotations[gossipkeys.GenerationAnnotation]; v != "3" {
					t.Errorf("generation %s, want 3: a step was taken twice", v)
				}
			})
		}
	}
}

func TestRun(t *testing.T) {
	f := newFleet(t, "K", "x", "y")
	f.do(f.rotator().Start)
	f.clock.onSleep = func() { f.report("x", "y") }
	f.before = func(verb string, _ any) error {
		if f.clock.asleep == 0 && verb == "list" {
			return errTimeout // waited through
		}
		return nil
	}
	p, err := f.rotator().Run(t.Context(), time.Second)
	if err != nil || !p.Done() {
		t.Errorf("%v, %v", p, err)
	}
	f.wantList("n")

	for name, tc := range map[string]struct {
		setup func(f *fleet)
		want  func(error) bool
	}{
		"nothing started": {func(*fleet) {}, func(err error) bool { return errors.Is(err, gossipkeys.ErrNotRotating) }},
		"no Secret":       {func(f *fleet) { f.deleteSecret() }, apierrors.IsNotFound},
		"not allowed":     {func(f *fleet) { f.before = failing("get", errForbidden) }, apierrors.IsForbidden},
		"broken Secret": {func(f *fleet) { f.putSecret(f.t, "x") },
			func(err error) bool { return errors.Is(err, gossipkeys.ErrInvalidData) }},
	} {
		f := newFleet(t, "K", "x")
		tc.setup(f)
		if _, err := f.rotator().Run(t.Context(), time.Second); !tc.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}

	f = newFleet(t, "K", "x")
	f.do(f.rotator().Start)
	ctx, cancel := context.WithCancel(t.Context())
	f.clock.onSleep = cancel
	if _, err := f.rotator().Run(ctx, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// The controller: quiet while there is nothing to do, and awake for reports.
func TestRotatorController(t *testing.T) {
	f := newFleet(t, "K", "x", "y")
	c := f.rotator().Controller()
	run := func() reconcile.Result {
		t.Helper()
		result, err := c.Reconciler.Reconcile(t.Context(), c.Start[0])
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	f.calls = nil
	run()
	if diff := cmp.Diff([]string{"get secret"}, f.calls); diff != "" {
		t.Errorf("idle (-want +got):\n%s", diff)
	}
	f.do(f.rotator().Start)
	f.ready("y", corev1.ConditionFalse)
	if result := run(); result.RequeueAfter != gossipkeys.GoneAfter {
		t.Errorf("looks again after %v", result.RequeueAfter)
	}
	f.report("x", "y")
	for _, request := range c.Watches[1].Requests(t.Context(), &corev1.Node{}) {
		if request != c.Start[0] {
			t.Errorf("a node's event makes request %v", request)
		}
	}
	run()
	f.wantList("nK")
	f.before = failing("get", errTimeout)
	if _, err := c.Reconciler.Reconcile(t.Context(), c.Start[0]); !apierrors.IsTimeout(err) {
		t.Errorf("got %v", err)
	}
	f.before = nil
	for _, quiet := range []func(){func() { f.putSecret(t, "garbage") }, f.deleteSecret} {
		quiet()
		run()
	}
	if w := c.Watches[0]; w.Name != secretKey().Name || w.Namespace != namespace {
		t.Errorf("watches %s/%s", w.Namespace, w.Name)
	}
}

func TestProgressIsReadable(t *testing.T) {
	f := newFleet(t, "K", "x", "y", "z")
	f.reports("y", gossipkeys.Report{Keys: []string{"0badc0de"}, Time: time.Unix(1e9, 0)})
	f.putNode("z", func(n *corev1.Node) { n.Annotations = nil })
	p, err := f.rotator().Progress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `rotation idle (generation 0: ` + key('K').Fingerprint() + `)
1 of 3 nodes current, waiting for:
  y  behind  generation 0: 0badc0de, since 2001-09-09T01:46:40Z, of another Secret
  z  silent
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
