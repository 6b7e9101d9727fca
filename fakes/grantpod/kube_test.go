package grantpod_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/kubetest"
	"github.com/seedbed-sim/seedbed/fakes/grantpod"
)

// stepping is a clock on which a sleep takes no time.
type stepping struct{ now time.Time }

func (s *stepping) Now() time.Time { return s.now }

func (s *stepping) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if end, ok := ctx.Deadline(); ok && s.now.Add(d).After(end) {
		s.now = end
		return context.DeadlineExceeded
	}
	s.now = s.now.Add(d)
	return nil
}

func newClock() *stepping { return &stepping{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

type world struct {
	kube   *grantpod.Kube
	claims bool
}

func (w world) Kube() home.Kube          { return w.kube }
func (w world) ServesClaims() bool       { return w.claims }
func (w world) CreateNamespace(n string) { w.kube.PutNamespace(n) }

func (w world) CreatePod(namespace, name string) types.UID {
	return w.kube.PutPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}},
	})
}

func (world) Ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (w world) RemovePod(namespace, name string) { w.kube.RemovePod(namespace, name) }

func (w world) CreateClaim(namespace, name string) types.UID {
	return w.kube.PutClaim(namespace, name, "")
}
func (w world) DeleteClaim(namespace, name string)  { w.kube.DeleteClaim(namespace, name) }
func (w world) ReleaseClaim(namespace, name string) { w.kube.ReleaseClaim(namespace, name) }

func TestConformance(t *testing.T) {
	kubetest.Run(t, "with", world{grantpod.New(newClock()), true})
	without := grantpod.New(newClock())
	without.ServeClaims(false)
	kubetest.Run(t, "without", world{without, false})
}

// TestFaultsComeInOrder: each for as many calls as it says, on its own verb.
func TestFaultsComeInOrder(t *testing.T) {
	clock := newClock()
	k := grantpod.New(clock)
	k.PutPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}})
	k.Fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.Status(503), Times: 2})
	k.Fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.UnknownPath()})
	k.Fail(grantpod.GetPod, grantpod.Fault{Hang: true})
	k.Fail(grantpod.GetPod, grantpod.Fault{Latency: time.Second})
	ctx, cancel := context.WithDeadline(t.Context(), clock.now.Add(time.Minute))
	defer cancel()
	for i, want := range []func(error) bool{
		apierrors.IsServiceUnavailable, apierrors.IsServiceUnavailable, apierrors.IsUnexpectedServerError,
		func(err error) bool { return errors.Is(err, context.DeadlineExceeded) },
	} {
		if _, err := k.GetPod(ctx, "ns", "p"); !want(err) {
			t.Errorf("call %d: %v", i, err)
		}
		if _, err := k.GetNamespace(t.Context(), "ns"); err != nil {
			t.Errorf("another verb: %v", err)
		}
	}
	before := clock.now
	if _, err := k.GetPod(t.Context(), "ns", "p"); err != nil || clock.now.Sub(before) != time.Second {
		t.Errorf("a slow answer: %v after %s", err, clock.now.Sub(before))
	}
	k.Fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.ErrRefused, Times: grantpod.Always})
	for range 5 {
		if _, err := k.GetPod(t.Context(), "ns", "p"); !errors.Is(err, grantpod.ErrRefused) {
			t.Errorf("always: %v", err)
		}
	}
	k.Heal()
	if _, err := k.GetPod(t.Context(), "ns", "p"); err != nil {
		t.Errorf("healed: %v", err)
	}
}

// TestFaultsOfOneObject leave the others alone.
func TestFaultsOfOneObject(t *testing.T) {
	k := grantpod.New(newClock())
	k.PutClaim("ns", "a", "")
	k.PutClaim("ns", "b", "")
	k.Fail(grantpod.GetResourceClaim, grantpod.Fault{Name: "b", Err: grantpod.Status(500)})
	k.Fail(grantpod.GetResourceClaim, grantpod.Fault{Err: grantpod.Status(403)})
	var got []string
	for _, name := range []string{"a", "a", "b", "b"} {
		_, err := k.GetResourceClaim(t.Context(), "ns", name)
		got = append(got, fmt.Sprint(name, " ", apierrors.ReasonForError(err)))
	}
	if d := cmp.Diff([]string{"a Forbidden", "a ", "b InternalError", "b "}, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
}

// TestStaleReads see a Pod as it was before its last change, also if it is gone.
func TestStaleReads(t *testing.T) {
	k := grantpod.New(newClock())
	uid := k.PutPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}})
	k.ServeStale(1)
	if pod, err := k.GetPod(t.Context(), "ns", "p"); err != nil || pod.DeletionTimestamp != nil {
		t.Errorf("nothing has changed: %v, error %v", pod, err)
	}
	k.DeletePod("ns", "p")
	for i, deleted := range []bool{false, true} {
		if pod, err := k.GetPod(t.Context(), "ns", "p"); err != nil || (pod.DeletionTimestamp != nil) != deleted {
			t.Errorf("read %d after the deletion: %v, error %v", i, pod, err)
		}
	}
	k.RemovePod("ns", "p")
	k.ServeStale(1)
	if pod, err := k.GetPod(t.Context(), "ns", "p"); err != nil || pod.UID != uid {
		t.Errorf("a stale read of what is gone: %v, error %v", pod, err)
	}
	if _, err := k.GetPod(t.Context(), "ns", "p"); !apierrors.IsNotFound(err) {
		t.Errorf("the read after it: %v", err)
	}
}

// TestANamespaceTakesAllWithIt, first as being deleted and then for good.
func TestANamespaceTakesAllWithIt(t *testing.T) {
	k := grantpod.New(newClock())
	uid := k.PutPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}})
	k.PutClaim("ns", "c", uid)
	k.TerminateNamespace("ns")
	ns, err := k.GetNamespace(t.Context(), "ns")
	if err != nil || ns.Status.Phase != corev1.NamespaceTerminating || k.Pod("ns", "p").DeletionTimestamp == nil {
		t.Errorf("namespace %v, error %v", ns, err)
	}
	k.RemovePod("ns", "p")
	if _, err := k.GetResourceClaim(t.Context(), "ns", "c"); !apierrors.IsNotFound(err) {
		t.Errorf("the claim made for the pod: %v", err)
	}
	k.RemoveNamespace("ns")
	if _, err := k.GetNamespace(t.Context(), "ns"); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
	var verbs []grantpod.Verb
	for _, c := range k.Calls() {
		verbs = append(verbs, c.Verb)
	}
	if d := cmp.Diff([]grantpod.Verb{grantpod.GetNamespace, grantpod.GetResourceClaim, grantpod.GetNamespace}, verbs); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}
