package registry

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

var nodes = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"),
	Names:            Names{Plural: "nodes", ShortNames: []string{"no"}},
	Cluster:          true,
	Prototype:        &corev1.Node{},
	PlainFieldError:  true,
	Fields: []*store.Field{
		{Name: "spec.unschedulable", Get: func(o Object) string { return strconv.FormatBool(o.(*corev1.Node).Spec.Unschedulable) }},
	},
	Default: func(obj Object) {
		n := obj.(*corev1.Node)
		defaultNetworks(&n.Spec)
		s := &n.Status
		if s.Allocatable == nil && s.Capacity != nil {
			s.Allocatable = s.Capacity.DeepCopy()
		}
	},
	Admit: func(_ *Context, obj, old Object) error {
		if old == nil {
			taintNotReady(obj.(*corev1.Node))
		}
		return nil
	},
	Status: &Status{Kept: true, Validate: validateNodeStatus},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		return validateNodeUpdate(obj.(*corev1.Node), old.(*corev1.Node))
	},
}

// defaultNetworks makes the older field the first of the newer. It has the last word.
func defaultNetworks(s *corev1.NodeSpec) {
	switch {
	case s.PodCIDR == "" && len(s.PodCIDRs) > 0:
		s.PodCIDR = s.PodCIDRs[0]
	case s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR):
		s.PodCIDRs = []string{s.PodCIDR}
	}
}

// taintNotReady keeps pods away from a node that nobody has called ready.
func taintNotReady(n *corev1.Node) {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule {
			return
		}
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
}

func validateNodeStatus(_ *Context, obj, _ Object) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.NodeAddress]bool{}
	for i, a := range obj.(*corev1.Node).Status.Addresses {
		if seen[a] {
			errs = append(errs, field.Duplicate(field.NewPath("status", "addresses").Index(i), a))
		}
		seen[a] = true
	}
	return errs
}

func validateNodeUpdate(n, was *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if len(was.Spec.PodCIDRs) > 0 && !sameList(n.Spec.PodCIDRs, was.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(spec.Child("podCIDRs"), `node updates may not change podCIDR except from "" to valid`))
	}
	if was.Spec.ProviderID != "" && n.Spec.ProviderID != was.Spec.ProviderID {
		what := "field cannot be modified once set"
		if n.Spec.ProviderID == "" {
			what = "field cannot be cleared once set"
		}
		errs = append(errs, field.Invalid(spec.Child("providerID"), nil, what))
	}
	return errs
}

var volumes = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
	Names:            Names{Plural: "persistentvolumes", ShortNames: []string{"pv"}},
	Cluster:          true,
	Prototype:        &corev1.PersistentVolume{},
	Delete:           DeleteRules{ReturnsObject: true},
	Default: func(obj Object) {
		v := obj.(*corev1.PersistentVolume)
		if v.Status.Phase == "" {
			v.Status.Phase = corev1.VolumePending
		}
		if v.Spec.PersistentVolumeReclaimPolicy == "" {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		}
		fill(&v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		if h := v.Spec.HostPath; h != nil && h.Type == nil {
			fill(&mine(&v.Spec.HostPath).Type, corev1.HostPathUnset)
		}
	},
	Admit: func(_ *Context, obj, old Object) error { return protect(obj, old, "kubernetes.io/pv-protection") },
	Status: &Status{
		OnCreate: func(c *Context, obj Object) {
			now := c.Now
			obj.(*corev1.PersistentVolume).Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
		},
		Prepare: moveVolumePhase,
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		return fixed(obj.(*corev1.PersistentVolume).Spec.PersistentVolumeSource, old.(*corev1.PersistentVolume).Spec.PersistentVolumeSource,
			field.NewPath("spec", "persistentvolumesource"))
	},
}

func moveVolumePhase(c *Context, obj, old Object) {
	s, was := &obj.(*corev1.PersistentVolume).Status, &old.(*corev1.PersistentVolume).Status
	switch {
	case s.Phase == was.Phase && s.LastPhaseTransitionTime == nil:
		s.LastPhaseTransitionTime = was.LastPhaseTransitionTime
	case s.Phase != was.Phase && (s.LastPhaseTransitionTime == nil || s.LastPhaseTransitionTime.Equal(was.LastPhaseTransitionTime)):
		now := c.Now
		s.LastPhaseTransitionTime = &now
	}
}

// protect gives a new object a finalizer.
func protect(obj, old Object, finalizer string) error {
	if old != nil {
		return nil
	}
	for _, f := range obj.GetFinalizers() {
		if f == finalizer {
			return nil
		}
	}
	obj.SetFinalizers(append(obj.GetFinalizers(), finalizer))
	return nil
}

var claims = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	Names:            Names{Plural: "persistentvolumeclaims", ShortNames: []string{"pvc"}},
	Prototype:        &corev1.PersistentVolumeClaim{},
	Delete:           DeleteRules{ReturnsObject: true},
	Default:          func(obj Object) { defaultClaim(obj.(*corev1.PersistentVolumeClaim)) },
	Admit:            func(_ *Context, obj, old Object) error { return protect(obj, old, "kubernetes.io/pvc-protection") },
	Status:           &Status{},
	Settle: func(obj Object) bool {
		c := obj.(*corev1.PersistentVolumeClaim)
		unset := c.Status.Phase == ""
		defaultClaim(c)
		return unset
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateClaim(&obj.(*corev1.PersistentVolumeClaim).Spec)
	},
	ValidateUpdate: validateClaimUpdate,
	Review: func(c *Context, obj, old Object) error {
		if old != nil && old.GetDeletionTimestamp() != nil {
			return nil
		}
		for _, r := range c.Peers.Peers(limitRangeResource, obj.GetNamespace()) {
			if err := checkClaimLimits(r.(*corev1.LimitRange), obj.(*corev1.PersistentVolumeClaim)); err != nil {
				return forbidden(claimResource, obj, err.Error())
			}
		}
		return nil
	},
}

func defaultClaim(c *corev1.PersistentVolumeClaim) {
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
	defaultClaimSpec(&c.Spec)
}

func defaultClaimSpec(s *corev1.PersistentVolumeClaimSpec) {
	fill(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
}

func validateClaim(s *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if len(s.AccessModes) == 0 {
		errs = append(errs, field.Required(p.Child("accessModes"), "at least 1 access mode is required"))
	}
	if _, ok := s.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(p.Child("resources").Key(string(corev1.ResourceStorage)), ""))
	}
	for _, m := range s.AccessModes {
		errs = append(errs, oneOf(p.Child("accessModes"), m, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)...)
	}
	if s.VolumeMode != nil {
		errs = append(errs, oneOf(p.Child("volumeMode"), *s.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return errs
}

func validateClaimUpdate(_ *Context, obj, old Object) field.ErrorList {
	c, was := obj.(*corev1.PersistentVolumeClaim), old.(*corev1.PersistentVolumeClaim)
	errs := append(validateClaim(&c.Spec), fixed(c.Spec.VolumeMode, was.Spec.VolumeMode, field.NewPath("volumeMode"))...)
	size := c.Spec.Resources.Requests.Storage()
	if size.Cmp(*was.Spec.Resources.Requests.Storage()) < 0 && size.Cmp(*was.Status.Capacity.Storage()) <= 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	rest := c.Spec.DeepCopy()
	if was.Spec.VolumeName == "" {
		rest.VolumeName = ""
	}
	if was.Spec.StorageClassName == nil {
		rest.StorageClassName = nil // a claim that came before the default class may get it
	}
	if was.Status.Phase == corev1.ClaimBound {
		rest.Resources.Requests = was.Spec.Resources.Requests
		rest.VolumeAttributesClassName = was.Spec.VolumeAttributesClassName
	}
	if len(apivalidation.ValidateImmutableField(*rest, was.Spec, nil)) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec"),
			"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"))
	}
	return errs
}

var resourceQuotas = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ResourceQuota"),
	Names:            Names{Plural: "resourcequotas", ShortNames: []string{"quota"}},
	Prototype:        &corev1.ResourceQuota{},
	Delete:           DeleteRules{ReturnsObject: true},
	Status:           &Status{Validate: validateQuotaStatus},
	Validate:         func(_ *Context, obj Object) field.ErrorList { return validateQuota(obj.(*corev1.ResourceQuota)) },
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		return validateQuotaChange(obj.(*corev1.ResourceQuota), old.(*corev1.ResourceQuota))
	},
}

var replicationControllers = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ReplicationController"),
	Names:            Names{Plural: "replicationcontrollers", ShortNames: []string{"rc"}, Categories: []string{"all"}},
	Prototype:        &corev1.ReplicationController{},
	Generation:       SpecOnly,
	Delete:           DeleteRules{Orphan: true},
	PlainFieldError:  true,
	Fields: []*store.Field{
		{Name: "status.replicas", Get: func(o Object) string { return itoa(o.(*corev1.ReplicationController).Status.Replicas) }},
	},
	Default: func(obj Object) { defaultReplicationController(obj.(*corev1.ReplicationController)) },
	Status:  &Status{},
	Scale: &Scale{
		Replicas:    func(o Object) int32 { return value(o.(*corev1.ReplicationController).Spec.Replicas) },
		SetReplicas: func(o Object, n int32) { o.(*corev1.ReplicationController).Spec.Replicas = &n },
		Current:     func(o Object) int32 { return o.(*corev1.ReplicationController).Status.Replicas },
		Selector: func(o Object) string {
			return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: o.(*corev1.ReplicationController).Spec.Selector})
		},
	},
}

func defaultReplicationController(rc *corev1.ReplicationController) {
	fill(&rc.Spec.Replicas, 1)
	t := rc.Spec.Template
	if t == nil {
		return
	}
	defaultPodTemplate(t)
	if len(rc.Spec.Selector) == 0 && len(t.Labels) > 0 {
		rc.Spec.Selector = copied(t.Labels)
	}
	if len(rc.Labels) == 0 && len(t.Labels) > 0 {
		rc.Labels = copied(t.Labels)
	}
}
