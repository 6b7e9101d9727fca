package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule06EphemeralContainersAreOnlyAdded(t *testing.T) {
	a := newAPI(t)
	mirror := pod("mirror", "n1")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	for _, p := range []*corev1.Pod{pod("p", "n1"), mirror} {
		a.create(pods, p)
	}
	debug := sub("ephemeralcontainers")
	a.patch(pods, "p", `{"metadata":{"labels":{"l":"m"}},"spec":{"ephemeralContainers":[{"name":"x","image":"i:1"}]}}`, debug)
	p := a.get(pods, "p", debug).(*corev1.Pod)
	equal(t, "image pull policy", p.Spec.EphemeralContainers[0].ImagePullPolicy, corev1.PullIfNotPresent)
	equal(t, "generation", p.Generation, 2)
	equal(t, "labels", len(p.Labels), 0)
	a.refused(a.request(apiserver.Patch, pods, "p", debug, merge(`{"spec":{"ephemeralContainers":[]}}`)), 422, "Invalid",
		"Pod \"p\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \"x\" may not be removed\n")
	a.refused(a.request(apiserver.Patch, pods, "mirror", debug, merge(`{"spec":{"ephemeralContainers":[{"name":"x","image":"i:1"}]}}`)), 422, "Invalid",
		`Pod "mirror" is invalid: []: Forbidden: static pods do not support ephemeral containers`)

	w := a.watch(pods)
	stale := p.DeepCopy()
	a.patch(pods, "p", `{"spec":{"ephemeralContainers":[{"name":"x","image":"i:1"}]}}`, debug) // what is there already
	a.update(pods, p, debug)
	for ev, ok := w.Next(); ok; ev, ok = w.Next() {
		if ev.Type == "MODIFIED" {
			t.Error("what changes nothing made an event")
		}
	}
	stale.Spec.EphemeralContainers = append(stale.Spec.EphemeralContainers, corev1.EphemeralContainer{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "late", Image: "i:1"},
	})
	a.update(pods, stale, debug)
	stale.Spec.EphemeralContainers[1].Name = "later"
	a.refused(a.request(apiserver.Update, pods, "p", debug, body(stale)), 409, "Conflict", `Operation cannot be fulfilled on pods "p": `+
		`the object has been modified; please apply your changes to the latest version and try again`)
}

// roomy is a pod that asks for cpu.
func roomy(name, node, cpu string) *corev1.Pod {
	p := pod(name, node)
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return p
}

func cpu(container, amount string) string {
	return `{"spec":{"containers":[{"name":"` + container + `","image":"image:v1","resources":{"requests":{"cpu":"` + amount + `"}}}]}}`
}

func TestRule06AResizeNeedsTheNodeAndItsRoom(t *testing.T) {
	a := newAPI(t)
	a.create(nodes, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelOSStable: "linux"}},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")}},
	}, in(""))
	a.create(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{corev1.LabelOSStable: "windows"}}}, in(""))
	for _, node := range []string{"n1", "w1", "none", ""} {
		a.create(pods, roomy("p"+node, node, "1"))
	}
	resize := sub("resize")
	a.patch(pods, "pn1", cpu("c", "2"), resize)
	equal(t, "generation", a.get(pods, "pn1").GetGeneration(), 2)
	a.patch(pods, "p", cpu("c", "20"), resize) // who looks for a node for it sees to that
	a.refused(a.request(apiserver.Patch, pods, "pn1", resize, merge(cpu("c", "3"))), 403, "Forbidden",
		`pods "pn1" is forbidden: node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000`)
	a.refused(a.request(apiserver.Patch, pods, "pw1", resize, merge(cpu("c", "2"))), 403, "Forbidden",
		`pods "pw1" is forbidden: pod resize is only supported on linux nodes, node "w1" is "windows"`)
	a.refused(a.request(apiserver.Patch, pods, "pnone", resize, merge(cpu("c", "2"))), 403, "Forbidden", `pods "pnone" is forbidden: node "none" not found`)
	a.refused(a.request(apiserver.Patch, pods, "pn1", merge(cpu("c", "1"))), 422, "Invalid",
		"Pod \"pn1\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)")
}

func TestRule06AResizeIsBookedOnQuotas(t *testing.T) {
	a := newAPI(t)
	quotas := corev1.SchemeGroupVersion.WithResource("resourcequotas")
	a.create(pods, roomy("p", "", "1"))
	q := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("3")}},
	}
	a.create(quotas, q)
	a.patch(quotas, "q", `{"status":{"hard":{"requests.cpu":"3"},"used":{"requests.cpu":"1"}}}`, sub("status"))
	used := func() string {
		n := a.get(quotas, "q").(*corev1.ResourceQuota).Status.Used["requests.cpu"]
		return n.String()
	}
	resize := sub("resize")
	a.patch(pods, "p", cpu("c", "2"), resize)
	equal(t, "used", used(), "2")
	a.refused(a.request(apiserver.Patch, pods, "p", resize, merge(cpu("c", "4"))), 403, "Forbidden",
		`pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=2, limited: requests.cpu=3`)
	a.patch(pods, "p", cpu("c", "1"), resize)
	equal(t, "used after less", used(), "2") // the controller takes it off
}

func TestRule06AResizeChangesNothingElse(t *testing.T) {
	a := newAPI(t)
	mirror := roomy("mirror", "n1", "1")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	a.create(pods, mirror)
	a.create(pods, roomy("p", "", "1"))
	resize := sub("resize")
	a.refused(a.request(apiserver.Patch, pods, "mirror", resize, merge(cpu("c", "2"))), 422, "Invalid",
		`Pod "mirror" is invalid: []: Forbidden: static pods cannot be resized`)
	a.refused(a.request(apiserver.Patch, pods, "p", resize, merge(cpu("d", "2"))), 422, "Invalid",
		`Pod "p" is invalid: spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize`)
	a.patch(pods, "p", `{"metadata":{"annotations":{"l":"m"},"finalizers":["a.io/f"]},"spec":{"activeDeadlineSeconds":5}}`, resize)
	p := a.get(pods, "p").(*corev1.Pod)
	equal(t, "annotations", len(p.Annotations), 0)
	equal(t, "finalizers", len(p.Finalizers), 0)
	equal(t, "generation", p.Generation, 1)
}
