package controllermanager

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

const volumeFinalizer = "kubernetes.io/pv-protection"

var volumesGVR = corev1.SchemeGroupVersion.WithResource("persistentvolumes")

// volumeProtection lets a PersistentVolume that is being deleted go only when it is not
// bound. Admission gives new volumes the finalizer.
type volumeProtection struct {
	m    *Manager
	loop *Loop
}

func newVolumeProtection(m *Manager) controller {
	c := &volumeProtection{m: m}
	c.loop = &Loop{Name: VolumeProtection, Workers: 1, Reconcile: c.reconcile}
	return c
}

func (c *volumeProtection) loops() []*Loop { return []*Loop{c.loop} }

func (c *volumeProtection) watches(r *apiserver.Resource) bool { return r.GVR() == volumesGVR }

func (c *volumeProtection) observe(_ *resource, _, new apiserver.Object) {
	if new != nil && misprotected(new, volumeFinalizer) {
		c.loop.add("", new.GetName())
	}
}

func (c *volumeProtection) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	v, found := cached[*corev1.PersistentVolume](c.m, volumesGVR, "", req.Name)
	if !found || !misprotected(v, volumeFinalizer) || v.DeletionTimestamp != nil && v.Status.Phase == corev1.VolumeBound {
		return reconcile.Result{}, nil
	}
	next := v.DeepCopy()
	protect(next, volumeFinalizer)
	_, err := c.m.update(ctx, volumesGVR, "", next)
	return reconcile.Result{}, err
}
