package home

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// devices is who makes ResourceClaims from templates, keeps those in use from going,
// and collects those whose Pod is gone: the controllers and the scheduler's plug-in.
type devices struct {
	made int
}

// protection is the finalizer of a claim that is in use.
const protection = "resource.kubernetes.io/delete-protection"

const (
	requestName  = "gpu"
	templateName = "gpu"

	// collectAfter is how long the collector takes to see that an owner is gone.
	collectAfter = time.Second
)

// equip gives a Pod its claim, if Pods have one. A claim from a template is made when
// the Pod is there.
func (d *devices) equip(s *State, sl *slot, p *corev1.Pod) error {
	switch s.config.Claims {
	case "named":
		name := sl.name + "-" + requestName
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: requestName, ResourceClaimName: &name}}
		return d.create(s, name, nil)
	case "template":
		template := templateName
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: requestName, ResourceClaimTemplateName: &template}}
		s.world.Engine().After(50*time.Millisecond, func(any) {
			if err := d.generate(s, sl.pod); err != nil {
				s.world.Say("cannot make the claim of Pod %s: %s", sl.name, err)
			}
		}, nil)
	}
	return nil
}

// generate makes a claim for a Pod and says in the Pod's status how it is called.
func (d *devices) generate(s *State, pod *grantPod) error {
	if pod.gone {
		return nil
	}
	d.made++
	name := fmt.Sprintf("%s-%s-%d", pod.slot.name, requestName, d.made)
	if err := d.create(s, name, pod); err != nil {
		return err
	}
	var p corev1.Pod
	if err := s.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: pod.slot.name}, &p); err != nil {
		return fmt.Errorf("read Pod %s: %w", pod.slot.name, err)
	}
	p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: requestName, ResourceClaimName: &name}}
	if err := s.world.Admin().Status().Update(context.Background(), &p); err != nil {
		return fmt.Errorf("name the claim of Pod %s: %w", pod.slot.name, err)
	}
	return nil
}

// create makes a claim that is in use, if it is not there.
func (d *devices) create(s *State, name string, owner *grantPod) error {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Finalizers: []string{protection}}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: requestName, Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}}}
	if owner != nil {
		yes := true
		c.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: owner.slot.name, UID: owner.podUID(), Controller: &yes, BlockOwnerDeletion: &yes,
		}}
	}
	if err := s.world.Admin().Create(context.Background(), c); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make ResourceClaim %s: %w", name, err)
	}
	return nil
}

// claims returns the claims of a slot's Pods, in order of their names.
func (d *devices) claims(s *State, sl *slot) ([]*resourcev1.ResourceClaim, error) {
	var list resourcev1.ResourceClaimList
	if err := s.world.Admin().List(context.Background(), &list, client.InNamespace(Namespace)); err != nil {
		return nil, fmt.Errorf("list the ResourceClaims: %w", err)
	}
	var found []*resourcev1.ResourceClaim
	for i := range list.Items {
		c := &list.Items[i]
		owned := len(c.OwnerReferences) > 0 && c.OwnerReferences[0].Name == sl.name
		if owned || c.Name == sl.name+"-"+requestName {
			found = append(found, c)
		}
	}
	return found, nil
}

// delete deletes the claims of a slot; those in use linger.
func (d *devices) delete(s *State, sl *slot) error {
	claims, err := d.claims(s, sl)
	if err != nil {
		return err
	}
	for _, c := range claims {
		if err := client.IgnoreNotFound(s.world.Admin().Delete(context.Background(), c)); err != nil {
			return fmt.Errorf("delete ResourceClaim %s: %w", c.Name, err)
		}
	}
	return nil
}

// release lets the claims of a slot go that are being deleted, as if nobody used them.
func (d *devices) release(s *State, sl *slot, only func(*resourcev1.ResourceClaim) bool) error {
	claims, err := d.claims(s, sl)
	if err != nil {
		return err
	}
	for _, c := range claims {
		if only != nil && !only(c) {
			continue
		}
		c.Finalizers = nil
		if err := client.IgnoreNotFound(s.world.Admin().Update(context.Background(), c)); err != nil {
			return fmt.Errorf("release ResourceClaim %s: %w", c.Name, err)
		}
	}
	return nil
}

// podGone collects what was made for a Pod that is gone.
func (d *devices) podGone(s *State, pod *grantPod) {
	s.world.Engine().After(collectAfter, func(any) {
		if err := d.collect(s, pod); err != nil {
			s.world.Say("cannot collect the claims of Pod %s: %s", pod.slot.name, err)
		}
	}, nil)
}

func (d *devices) collect(s *State, pod *grantPod) error {
	owned := func(c *resourcev1.ResourceClaim) bool {
		return len(c.OwnerReferences) > 0 && c.OwnerReferences[0].UID == pod.podUID()
	}
	claims, err := d.claims(s, pod.slot)
	if err != nil {
		return err
	}
	for _, c := range claims {
		if owned(c) {
			if err := client.IgnoreNotFound(s.world.Admin().Delete(context.Background(), c)); err != nil {
				return fmt.Errorf("collect ResourceClaim %s: %w", c.Name, err)
			}
		}
	}
	return d.release(s, pod.slot, owned)
}
