package controllermanager

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	serviceAccountsGVR = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	configMapsGVR      = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// furnishing keeps one object in every namespace: the ServiceAccount default, or the
// ConfigMap kube-root-ca.crt. Its requests are named after namespaces.
type furnishing struct {
	m        *Manager
	loop     *Loop
	resource schema.GroupVersionResource
	name     string

	// mend brings the object to what it must be, or makes it if it is not there.
	mend func(ctx context.Context, namespace string, have apiserver.Object) error

	// harmless reports whether an error of mend needs no other attempt.
	harmless func(err error) bool
}

func terminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func newServiceAccounts(m *Manager) controller {
	f := &furnishing{m: m, resource: serviceAccountsGVR, name: "default"}
	f.mend = func(ctx context.Context, namespace string, have apiserver.Object) error {
		ns, found := cached[*corev1.Namespace](m, namespacesGVR, "", namespace)
		if !found || ns.Status.Phase != corev1.NamespaceActive || have != nil {
			return nil
		}
		_, err := m.create(ctx, f.resource, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: f.name}})
		return err
	}
	f.harmless = func(err error) bool { return apierrors.IsAlreadyExists(err) || terminating(err) }
	f.loop = &Loop{Name: ServiceAccounts, Workers: 1, Reconcile: f.reconcile}
	return f
}

const (
	rootCAKey         = "ca.crt"
	rootCADescription = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// RootCA is what the ConfigMap kube-root-ca.crt holds: no certificate, as no
// connection of a fake is encrypted by one.
const RootCA = "-----BEGIN CERTIFICATE-----\nc2VlZGJlZA==\n-----END CERTIFICATE-----\n"

func newRootCAPublisher(m *Manager) controller {
	f := &furnishing{m: m, resource: configMapsGVR, name: "kube-root-ca.crt"}
	annotations := map[string]string{"kubernetes.io/description": rootCADescription}
	f.mend = func(ctx context.Context, namespace string, have apiserver.Object) error {
		if have == nil {
			_, err := m.create(ctx, f.resource, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: f.name, Annotations: annotations},
				Data:       map[string]string{rootCAKey: RootCA},
			})
			return err
		}
		cm := have.(*corev1.ConfigMap)
		if len(cm.Data) == 1 && cm.Data[rootCAKey] == RootCA && len(cm.Annotations["kubernetes.io/description"]) > 0 {
			return nil
		}
		next := cm.DeepCopy()
		next.Data = map[string]string{rootCAKey: RootCA}
		next.Annotations = annotations
		_, err := m.update(ctx, f.resource, "", next)
		return err
	}
	f.harmless = func(err error) bool { return apierrors.IsNotFound(err) || terminating(err) }
	f.loop = &Loop{Name: RootCAPublisher, Workers: 1, Reconcile: f.reconcile}
	return f
}

func (f *furnishing) loops() []*Loop { return []*Loop{f.loop} }

func (f *furnishing) watches(r *apiserver.Resource) bool {
	return r.GVR() == namespacesGVR || r.GVR() == f.resource
}

func (f *furnishing) observe(r *resource, old, new apiserver.Object) {
	switch {
	case r.gvr != namespacesGVR:
		if old != nil && old.GetName() == f.name {
			f.loop.add("", old.GetNamespace())
		}
	case new != nil:
		f.loop.add("", new.GetName())
	}
}

func (f *furnishing) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	namespace := req.Name
	err := f.mend(ctx, namespace, f.m.opts.Cache.Get(f.resource, namespace, f.name))
	if err != nil && !f.harmless(err) {
		return reconcile.Result{}, fmt.Errorf("keep %s %s/%s: %w", f.resource.Resource, namespace, f.name, err)
	}
	return reconcile.Result{}, nil
}
