package apply_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// target is a target of Deployments. With a bug, it does not tell the ledger what
// it should.
type target struct {
	manager *apply.Manager
	bug     bug
	*counts
}

// bug is what the tests must see.
type bug int

const (
	none   bug = iota
	rash       // every run of writes is taken for one
	narrow     // of several places only one is told
	loose      // what came is taken for what has changed
)

// counts are how many writes needed no note of their own.
type counts struct{ folded, repeated int }

func (t *target) Update(o *apply.Owners, live, obj store.Object, name string, now metav1.Time) *apply.Owners {
	shown := func(obj store.Object) runtime.Object {
		if obj == nil {
			return nil
		}
		obj = shape.ShallowCopy(obj).(store.Object)
		obj.GetObjectKind().SetGroupVersionKind(deploymentKind)
		return obj
	}
	return t.manager.Update(o, shown(live), shown(obj), name, now)
}

func (t *target) Onward(a, b, c store.Object) bool {
	s := shape.Of(b, shape.Protobuf)
	ok := a == nil && s.Onward(nil, b, c) || a != nil && s.Onward(a, b, c)
	ok = ok || t.bug == rash
	if ok {
		t.folded++
	}
	return ok
}

func (t *target) Touched(a, b store.Object, places []shape.Place) (touched []shape.Place, replaced, clear bool) {
	start := len(places)
	touched, replaced, clear = shape.Of(b, shape.Protobuf).Touched(a, b, places)
	switch t.bug {
	case narrow:
		touched = touched[max(start, len(touched)-1):]
	case loose:
		replaced = true
	}
	return touched, replaced, clear
}

func (t *target) Stamp(o *apply.Owners, name string, now metav1.Time) *apply.Owners {
	t.repeated++
	return t.manager.Stamp(o, name, now)
}

// A step of a history is one write, which makes stored of the state before.
type step struct {
	status       bool // to the status
	untracked    bool
	manager      string
	sent, stored *appsv1.Deployment
	asked        bool // somebody wants to know the owners at once
}

// histories are sequences of writes to one Deployment. Managers mostly write
// several times on end, and mostly change little; or they take turns, and mostly
// do what they always do.
var histories = rapid.Custom(func(t *rapid.T) []step {
	var steps []step
	manager := "m1"
	turns := rapid.Bool().Draw(t, "they take turns")
	least, change, usual := 2, 3, 0
	if turns {
		least, change, usual = 12, 1, 8
	}
	for i := range rapid.IntRange(least, 24).Draw(t, "writes") {
		s := step{manager: manager, asked: rapid.IntRange(0, 5).Draw(t, "asked") == 0}
		if i == 0 {
			s.stored = deployments.Draw(t, "new")
			s.stored.TypeMeta, s.stored.Status = metav1.TypeMeta{}, appsv1.DeploymentStatus{}
		} else {
			if rapid.IntRange(0, change).Draw(t, "other manager") == 0 {
				manager = rapid.SampledFrom([]string{"m1", "m2", "m3"}).Draw(t, "manager")
			}
			s.manager = manager
			s.status = manager == "m3"
			s.untracked = rapid.IntRange(0, 9).Draw(t, "untracked") == 0
			s.stored = steps[i-1].stored.DeepCopy()
			if rapid.IntRange(0, 9).Draw(t, "usual") < usual {
				habit(t, manager, s.stored)
			} else {
				for range rapid.IntRange(1, 2).Draw(t, "edits") {
					edit(t, s.stored, s.status)
				}
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "admission") == 0 && !s.status {
			s.sent = s.stored.DeepCopy()
			s.stored.Spec.MinReadySeconds = rapid.Int32Range(1, 3).Draw(t, "admitted")
		}
		shape.Of(s.stored, shape.Protobuf).Normalize(s.stored)
		if s.sent != nil {
			shape.Of(s.sent, shape.Protobuf).Normalize(s.sent)
		}
		steps = append(steps, s)
	}
	return steps
})

// habit changes what a manager always changes.
func habit(t *rapid.T, manager string, d *appsv1.Deployment) {
	number := rapid.Int32Range(1, 9).Draw(t, "number")
	value := fmt.Sprint(number)
	meddles := rapid.IntRange(0, 7).Draw(t, "meddles") == 0
	switch manager {
	case "m1":
		d.Spec.MinReadySeconds = number
		if meddles {
			d.Annotations = merged(d.Annotations, "b", value)
		}
	case "m2":
		if meddles {
			d.Spec.MinReadySeconds = number
		}
		d.Annotations = merged(d.Annotations, "b", value)
		d.Spec.Template.Labels = merged(d.Spec.Template.Labels, "a", value)
	default:
		d.Status.Replicas = number
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Available", Status: "True", Message: value}}
	}
}

// edit changes one thing.
func edit(t *rapid.T, d *appsv1.Deployment, status bool) {
	value := rapid.SampledFrom([]string{"u", "v", "w", "x"}).Draw(t, "value")
	number := rapid.Int32Range(0, 3).Draw(t, "number")
	if status {
		condition := appsv1.DeploymentCondition{Type: "Available", Status: corev1.ConditionStatus(value), LastUpdateTime: metav1.Unix(int64(number), 0)}
		switch rapid.IntRange(0, 3).Draw(t, "status edit") {
		case 0:
			d.Status.Replicas = number
		case 1:
			d.Status.ObservedGeneration++
		case 2:
			d.Status.Conditions = []appsv1.DeploymentCondition{condition}
		default:
			condition.Type = "Progressing"
			d.Status.Conditions = append(d.Status.Conditions[:len(d.Status.Conditions):len(d.Status.Conditions)], condition)
			if len(d.Status.Conditions) > 2 {
				d.Status.Conditions = nil
			}
		}
		return
	}
	switch rapid.IntRange(0, 9).Draw(t, "edit") {
	case 0:
		d.Spec.Replicas = &number
	case 1:
		d.Spec.Replicas = nil
	case 2:
		d.Labels = merged(d.Labels, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "label"), value)
	case 3:
		d.Labels = nil
	case 4:
		d.Annotations = map[string]string{"a": value}
	case 5:
		d.Finalizers = []string{"example.com/" + value}
	case 6:
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: value, Args: []string{value}}}
	case 7:
		d.Spec.MinReadySeconds = number
	case 8:
		d.Spec.Template.Labels = merged(nil, "a", value)
	default:
		d.Spec.Paused = !d.Spec.Paused
	}
}

func merged(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// replay plays a history on a Ledger and, write by write, on Managers. It returns
// how the owners of some version differ, and how many writes needed no note.
func replay(steps []step, with bug) (diff string, saved counts) {
	main := &target{manager: ours("", ignored("status")), bug: with, counts: &saved}
	status := &target{manager: ours("status", ignored("spec")), bug: with, counts: &saved}
	var ledger apply.Ledger
	var eager []*apply.Owners
	var marks []store.Mark
	check := func(i int) string {
		if d := cmp.Diff(eager[i].Entries(), ledger.Owners(marks[i], steps[i].stored).Entries()); d != "" {
			return fmt.Sprintf("version %d of %d (-eager +deferred):\n%s", i, len(steps), d)
		}
		return ""
	}
	for i, s := range steps {
		now := metav1.NewTime(time.Unix(int64(100+i), 0).UTC())
		var live store.Object
		var before store.Mark
		var owners *apply.Owners
		if i > 0 {
			live, before, owners = steps[i-1].stored, marks[i-1], eager[i-1]
		}
		to := main
		if s.status {
			to = status
		}
		w := apply.Write{Target: to, Name: s.manager, Live: live, Object: s.stored, Time: now}
		sent := store.Object(s.stored)
		if s.sent != nil {
			sent, w.Sent = s.sent, s.sent
		}
		if s.untracked {
			marks = append(marks, apply.Carry(before, live))
		} else {
			marks = append(marks, ledger.Note(before, w))
			owners = to.Update(owners, live, sent, s.manager, now)
		}
		eager = append(eager, owners)
		if s.asked {
			if d := check(i); d != "" {
				return d, saved
			}
		}
	}
	for i := range steps {
		if d := check(len(steps) - 1 - i); d != "" {
			return d, saved
		}
	}
	return "", saved
}

// TestLaterIsNow: owners that are worked out later are those that were worked out
// at once, whenever somebody asks and whatever is taken together.
func TestLaterIsNow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if diff, _ := replay(histories.Draw(t, "history"), none); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestLaterIsNowSees makes sure that the test above would see writes taken
// together, or for repetitions, that must not be, and that there are many that
// may.
func TestLaterIsNowSees(t *testing.T) {
	var saved counts
	wrong := map[bug]int{}
	writes := 0
	for seed := range 200 {
		history := histories.Example(seed)
		for _, b := range []bug{rash, narrow, loose} {
			if diff, _ := replay(history, b); diff != "" {
				wrong[b]++
			}
		}
		_, s := replay(history, none)
		saved.folded += s.folded
		saved.repeated += s.repeated
		writes += len(history)
	}
	t.Logf("of 200 histories: wrong with each bug %v; of %d writes %d were taken together, and %d times taken for repetitions", wrong, writes, saved.folded, saved.repeated)
	if wrong[rash] < 30 || wrong[narrow] < 3 || wrong[loose] < 3 || saved.folded < writes/20 || saved.repeated < writes/40 {
		t.Error("that is not enough to prove anything")
	}
}
