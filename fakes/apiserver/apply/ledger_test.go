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

// target is a target of Deployments. With rash set it takes every run of writes
// for one: the bug that the tests must see.
type target struct {
	manager *apply.Manager
	rash    bool
	folded  *int
}

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
	if ok || t.rash {
		*t.folded++
	}
	return ok || t.rash
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
// several times on end, and mostly change little.
var histories = rapid.Custom(func(t *rapid.T) []step {
	var steps []step
	manager := "m1"
	for i := range rapid.IntRange(2, 24).Draw(t, "writes") {
		s := step{manager: manager, asked: rapid.IntRange(0, 5).Draw(t, "asked") == 0}
		if i == 0 {
			s.stored = deployments.Draw(t, "new")
			s.stored.TypeMeta, s.stored.Status = metav1.TypeMeta{}, appsv1.DeploymentStatus{}
		} else {
			if rapid.IntRange(0, 3).Draw(t, "other manager") == 0 {
				manager = rapid.SampledFrom([]string{"m1", "m2", "m3"}).Draw(t, "manager")
			}
			s.manager = manager
			s.status = manager == "m3"
			s.untracked = rapid.IntRange(0, 9).Draw(t, "untracked") == 0
			s.stored = steps[i-1].stored.DeepCopy()
			for range rapid.IntRange(1, 2).Draw(t, "edits") {
				edit(t, s.stored, s.status)
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
	switch rapid.IntRange(0, 7).Draw(t, "edit") {
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
func replay(steps []step, rash bool) (diff string, folded int) {
	main := &target{manager: ours("", ignored("status")), rash: rash, folded: &folded}
	status := &target{manager: ours("status", ignored("spec")), rash: rash, folded: &folded}
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
				return d, folded
			}
		}
	}
	for i := range steps {
		if d := check(len(steps) - 1 - i); d != "" {
			return d, folded
		}
	}
	return "", folded
}

// TestLaterIsNow: owners that are worked out later are those that were worked out
// at once, whenever somebody asks and whatever is taken together.
func TestLaterIsNow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if diff, _ := replay(histories.Draw(t, "history"), false); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestLaterIsNowSees makes sure that the test above would see writes taken
// together that must not be, and that many are taken together.
func TestLaterIsNowSees(t *testing.T) {
	wrong, together, writes := 0, 0, 0
	for seed := range 60 {
		history := histories.Example(seed)
		if diff, _ := replay(history, true); diff != "" {
			wrong++
		}
		_, folded := replay(history, false)
		together += folded
		writes += len(history)
	}
	if wrong < 10 || together < writes/20 {
		t.Errorf("taking everything together was seen in %d of 60 histories; %d of %d writes were taken together", wrong, together, writes)
	}
	t.Logf("taking everything together was seen in %d of 60 histories; %d of %d writes were taken together", wrong, together, writes)
}
