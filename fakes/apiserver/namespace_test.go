package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule11ANamespaceEndsInTwoPhases(t *testing.T) {
	a := newAPI(t)
	ns := a.create(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}).(*corev1.Namespace)
	equal(t, "new", ns.Spec.Finalizers, []corev1.FinalizerName{"kubernetes"})
	equal(t, "label", ns.Labels, map[string]string{"kubernetes.io/metadata.name": "team"})
	equal(t, "the label comes back", a.patch(namespaces, "team", `{"metadata":{"labels":null}}`).GetLabels(), ns.Labels)
	a.ns = "team"
	a.create(configMaps, configMap("a"))

	ns = a.delete(namespaces, "team").Object.(*corev1.Namespace)
	equal(t, "phase", ns.Status.Phase, corev1.NamespaceTerminating)
	if ns.DeletionTimestamp == nil || ns.DeletionGracePeriodSeconds != nil {
		t.Errorf("deletion %v, grace %v", ns.DeletionTimestamp, ns.DeletionGracePeriodSeconds)
	}
	s := a.refused(a.request(apiserver.Create, configMaps, "", body(configMap("b"))), 403, "Forbidden",
		`configmaps "b" is forbidden: unable to create new content in namespace team because it is being terminated`)
	if !apierrors.HasStatusCause(&apierrors.StatusError{ErrStatus: s}, corev1.NamespaceTerminatingCause) {
		t.Errorf("details %+v", s.Details)
	}
	a.patch(configMaps, "a", `{"data":{"k":"v"}}`)
	a.delete(configMaps, "a")
	equal(t, "a second delete", a.delete(namespaces, "team").Object.GetResourceVersion(), ns.ResourceVersion)

	ns.Spec.Finalizers = nil
	a.update(namespaces, ns, sub("finalize"))
	a.refused(a.request(apiserver.Get, namespaces, "team"), 404, "NotFound", `namespaces "team" not found`)
	a.refused(a.request(apiserver.Create, configMaps, "", body(configMap("b"))), 404, "NotFound", `namespaces "team" not found`)
}

func TestRule11SomeNamespacesStay(t *testing.T) {
	a := newAPI(t)
	for _, n := range []string{"default", "kube-system", "kube-public"} {
		a.refused(a.request(apiserver.Delete, namespaces, n), 403, "Forbidden", `namespaces "`+n+`" is forbidden: this namespace may not be deleted`)
	}
	uid := a.get(namespaces, "default").GetUID()
	a.refused(a.request(apiserver.Delete, namespaces, "default", deleteWith(func(o *metav1.DeleteOptions) { o.Preconditions = metav1.NewUIDPreconditions("x") })),
		409, "Conflict", `Operation cannot be fulfilled on namespaces "default": Precondition failed: UID in precondition: x, UID in object meta: `+string(uid))
}

func TestRule11PathsWithoutANamespace(t *testing.T) {
	a := newAPI(t)
	a.ns = ""
	a.refused(a.request(apiserver.Create, configMaps, "", body(configMap("a"))), 405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
	a.refused(a.request(apiserver.Get, configMaps, "a"), 404, "NotFound", "the server could not find the requested resource")
}
