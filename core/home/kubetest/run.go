package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/home"
)

// World is a cluster that a home.Kube is a client of. Its methods fail the test
// themselves.
type World interface {
	Kube() home.Kube

	// CreateNamespace makes a namespace.
	CreateNamespace(name string)

	// CreatePod makes a Pod with one condition, Ready, which is False, and returns
	// its UID.
	CreatePod(namespace, name string) types.UID

	// RemovePod removes a Pod, and does not return before it is gone.
	RemovePod(namespace, name string)

	// CreateClaim makes a ResourceClaim with a finalizer; DeleteClaim deletes it, so
	// that it lingers, and ReleaseClaim takes the finalizer away.
	CreateClaim(namespace, name string) types.UID
	DeleteClaim(namespace, name string)
	ReleaseClaim(namespace, name string)

	// Ended returns a context that has ended.
	Ended() context.Context

	// ServesClaims reports whether the cluster serves resource.k8s.io.
	ServesClaims() bool
}

// Run runs each case as a subtest, in a namespace whose name begins with prefix.
func Run(t *testing.T, prefix string, w World) {
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.claims && !w.ServesClaims() {
				t.Skip("the cluster serves no claims; the other worlds run this")
			}
			namespace := fmt.Sprintf("%s-%d", prefix, i)
			w.CreateNamespace(namespace)
			c.run(&env{T: t, World: w, ctx: t.Context(), kube: w.Kube(), ns: namespace})
		})
	}
}

type testCase struct {
	name   string
	claims bool // it needs claims
	run    func(e *env)
}

// env is what a case works with.
type env struct {
	*testing.T
	World
	ctx  context.Context
	kube home.Kube
	ns   string
}

// absent checks that err says that an object is not there.
func (e *env) absent(what string, err error) {
	e.Helper()
	if !apierrors.IsNotFound(err) || apierrors.IsUnexpectedServerError(err) {
		e.Errorf("%s: %v, want that there is no such object", what, err)
	}
}

var cases = []testCase{
	{"a Pod that is there", false, func(e *env) {
		uid := e.CreatePod(e.ns, "p")
		pod, err := e.kube.GetPod(e.ctx, e.ns, "p")
		if err != nil || pod.UID != uid || pod.Namespace != e.ns || pod.Name != "p" || pod.DeletionTimestamp != nil {
			e.Errorf("pod %v, error %v", pod, err)
		}
	}},
	{"a Pod that is not there", false, func(e *env) {
		_, err := e.kube.GetPod(e.ctx, e.ns, "p")
		e.absent("GetPod", err)
	}},
	{"a Pod of the same name later is another", false, func(e *env) {
		first := e.CreatePod(e.ns, "p")
		e.RemovePod(e.ns, "p")
		_, err := e.kube.GetPod(e.ctx, e.ns, "p")
		e.absent("GetPod after the removal", err)
		e.CreatePod(e.ns, "p")
		if pod, err := e.kube.GetPod(e.ctx, e.ns, "p"); err != nil || pod.UID == first {
			e.Errorf("pod %v, error %v", pod, err)
		}
	}},
	{"a namespace", false, func(e *env) {
		ns, err := e.kube.GetNamespace(e.ctx, e.ns)
		if err != nil || ns.Name != e.ns || ns.DeletionTimestamp != nil || ns.Status.Phase != corev1.NamespaceActive {
			e.Errorf("namespace %v, error %v", ns, err)
		}
		_, err = e.kube.GetNamespace(e.ctx, e.ns+"-x")
		e.absent("GetNamespace", err)
	}},
	{"a condition beside the kubelet's", false, func(e *env) {
		uid := e.CreatePod(e.ns, "p")
		for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse} {
			if err := e.kube.PatchPodStatus(e.ctx, e.ns, "p", patch(uid, status)); err != nil {
				e.Fatalf("PatchPodStatus: %v", err)
			}
			want := []corev1.PodCondition{
				{Type: home.PodConditionZygoteReady, Status: status, Reason: "Because", Message: "a message", LastTransitionTime: then},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse},
			}
			if d := cmp.Diff(want, e.conditions(), byType, ignoreTimes); d != "" {
				e.Errorf("conditions (-want +got):\n%s", d)
			}
		}
	}},
	{"a patch for another UID is refused", false, func(e *env) {
		e.CreatePod(e.ns, "p")
		err := e.kube.PatchPodStatus(e.ctx, e.ns, "p", patch("00000000-0000-4000-8000-00000000dead", corev1.ConditionTrue))
		if !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
			e.Errorf("PatchPodStatus: %v, want 409 or 422", err)
		}
		if got := e.conditions(); len(got) != 1 {
			e.Errorf("conditions %v", got)
		}
	}},
	{"a patch of a Pod that is not there", false, func(e *env) {
		e.absent("PatchPodStatus", e.kube.PatchPodStatus(e.ctx, e.ns, "p", patch("", corev1.ConditionTrue)))
	}},
	{"a patch that is none", false, func(e *env) {
		e.CreatePod(e.ns, "p")
		if err := e.kube.PatchPodStatus(e.ctx, e.ns, "p", []byte("{")); !apierrors.IsBadRequest(err) {
			e.Errorf("PatchPodStatus: %v, want 400", err)
		}
	}},
	{"a claim lives, lingers, and is gone", true, func(e *env) {
		_, err := e.kube.GetResourceClaim(e.ctx, e.ns, "c")
		e.absent("GetResourceClaim before", err)
		uid := e.CreateClaim(e.ns, "c")
		if c, err := e.kube.GetResourceClaim(e.ctx, e.ns, "c"); err != nil || c.UID != uid || c.Name != "c" || c.DeletionTimestamp != nil {
			e.Errorf("claim %v, error %v", c, err)
		}
		e.DeleteClaim(e.ns, "c")
		if c, err := e.kube.GetResourceClaim(e.ctx, e.ns, "c"); err != nil || c.UID != uid || c.DeletionTimestamp == nil {
			e.Errorf("claim that is being deleted %v, error %v", c, err)
		}
		e.ReleaseClaim(e.ns, "c")
		_, err = e.kube.GetResourceClaim(e.ctx, e.ns, "c")
		e.absent("GetResourceClaim after", err)
	}},
	{"a cluster without claims says so", false, func(e *env) {
		_, err := e.kube.GetResourceClaim(e.ctx, e.ns, "c")
		if got := errors.Is(err, home.ErrNoResourceClaims); got == e.ServesClaims() {
			e.Errorf("GetResourceClaim: %v; claims are served: %t", err, e.ServesClaims())
		}
	}},
	{"a call whose context has ended", false, func(e *env) {
		uid := e.CreatePod(e.ns, "p")
		ctx := e.Ended()
		if _, err := e.kube.GetPod(ctx, e.ns, "p"); err == nil {
			e.Error("GetPod succeeds")
		}
		if err := e.kube.PatchPodStatus(ctx, e.ns, "p", patch(uid, corev1.ConditionTrue)); err == nil || len(e.conditions()) != 1 {
			e.Errorf("PatchPodStatus: %v", err)
		}
	}},
}

var (
	then        = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	byType      = cmpopts.SortSlices(func(a, b corev1.PodCondition) bool { return a.Type < b.Type })
	ignoreTimes = cmpopts.IgnoreFields(corev1.PodCondition{}, "LastTransitionTime", "ObservedGeneration")
)

func patch(uid types.UID, status corev1.ConditionStatus) []byte {
	metadata := map[string]any{}
	if uid != "" {
		metadata["uid"] = uid
	}
	data, err := json.Marshal(map[string]any{
		"metadata": metadata,
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": home.PodConditionZygoteReady, "status": status, "reason": "Because", "message": "a message", "lastTransitionTime": then,
		}}},
	})
	if err != nil {
		panic(err) // it is made of nothing but texts
	}
	return data
}

func (e *env) conditions() []corev1.PodCondition {
	e.Helper()
	pod, err := e.kube.GetPod(e.ctx, e.ns, "p")
	if err != nil {
		e.Fatalf("GetPod: %v", err)
	}
	return pod.Status.Conditions
}
