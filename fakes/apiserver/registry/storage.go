package registry

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func preemptLower() *corev1.PreemptionPolicy {
	p := corev1.PreemptLowerPriority
	return &p
}

var storageClasses = &Kind{
	GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("StorageClass"),
	Names:            Names{Plural: "storageclasses", ShortNames: []string{"sc"}},
	Cluster:          true,
	Prototype:        &storagev1.StorageClass{},
	Delete:           DeleteRules{ReturnsObject: true},
	Default: func(obj Object) {
		c := obj.(*storagev1.StorageClass)
		fill(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
		fill(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		c, was := obj.(*storagev1.StorageClass), old.(*storagev1.StorageClass)
		var errs field.ErrorList
		for _, f := range []struct {
			name string
			same bool
		}{
			{"parameters", sameStrings(c.Parameters, was.Parameters)}, {"provisioner", c.Provisioner == was.Provisioner},
			{"reclaimPolicy", pointsSame(c.ReclaimPolicy, was.ReclaimPolicy)}, {"volumeBindingMode", pointsSame(c.VolumeBindingMode, was.VolumeBindingMode)},
		} {
			if !f.same {
				errs = append(errs, field.Invalid(field.NewPath(f.name), nil, apivalidation.FieldImmutableErrorMsg))
			}
		}
		return errs
	},
}

var volumeAttachments = &Kind{
	GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"),
	Names:            Names{Plural: "volumeattachments"},
	Cluster:          true,
	Prototype:        &storagev1.VolumeAttachment{},
	Write:            WriteRules{PutNeedsVersion: true},
	Delete:           DeleteRules{ReturnsObject: true},
	Status:           &Status{},
}

var csiNodes = &Kind{
	GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("CSINode"),
	Names:            Names{Plural: "csinodes"},
	Cluster:          true,
	Prototype:        &storagev1.CSINode{},
	Write:            WriteRules{PutNeedsVersion: true},
	Delete:           DeleteRules{ReturnsObject: true},
	Status:           &Status{},
}

var storageCapacities = &Kind{
	GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("CSIStorageCapacity"),
	Names:            Names{Plural: "csistoragecapacities"},
	Prototype:        &storagev1.CSIStorageCapacity{},
	Write:            WriteRules{PutNeedsVersion: true},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		name := obj.(*storagev1.CSIStorageCapacity).StorageClassName
		var errs field.ErrorList
		for _, msg := range apivalidation.NameIsDNSSubdomain(name, false) {
			errs = append(errs, field.Invalid(field.NewPath("storageClassName"), name, msg))
		}
		return errs
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		c, was := obj.(*storagev1.CSIStorageCapacity), old.(*storagev1.CSIStorageCapacity)
		return append(fixed(c.NodeTopology, was.NodeTopology, field.NewPath("nodeTopology")),
			fixed(c.StorageClassName, was.StorageClassName, field.NewPath("storageClassName"))...)
	},
}

var volumeAttributesClasses = &Kind{
	GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("VolumeAttributesClass"),
	Names:            Names{Plural: "volumeattributesclasses", ShortNames: []string{"vac"}},
	Cluster:          true,
	Prototype:        &storagev1.VolumeAttributesClass{},
	Delete:           DeleteRules{ReturnsObject: true},
	Admit:            func(_ *Context, obj, old Object) error { return protect(obj, old, "kubernetes.io/vac-protection") },
	Validate: func(_ *Context, obj Object) field.ErrorList {
		c := obj.(*storagev1.VolumeAttributesClass)
		var errs field.ErrorList
		if c.DriverName == "" {
			errs = append(errs, field.Required(field.NewPath("driverName"), ""))
		}
		if len(c.Parameters) == 0 {
			errs = append(errs, field.Required(field.NewPath("parameters"), "must contain at least one key/value pair"))
		}
		return errs
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		c, was := obj.(*storagev1.VolumeAttributesClass), old.(*storagev1.VolumeAttributesClass)
		var errs field.ErrorList
		if c.DriverName != was.DriverName {
			errs = append(errs, field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden."))
		}
		if !sameStrings(c.Parameters, was.Parameters) {
			errs = append(errs, field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
		}
		return errs
	},
}

var csiDrivers = &Kind{
	GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("CSIDriver"),
	Names:            Names{Plural: "csidrivers"},
	Cluster:          true,
	Prototype:        &storagev1.CSIDriver{},
	Write:            WriteRules{PutNeedsVersion: true},
	Delete:           DeleteRules{ReturnsObject: true},
	Default: func(obj Object) {
		s := &obj.(*storagev1.CSIDriver).Spec
		fill(&s.AttachRequired, true)
		fill(&s.PodInfoOnMount, false)
		fill(&s.StorageCapacity, false)
		fill(&s.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
		fill(&s.RequiresRepublish, false)
		fill(&s.SELinuxMount, false)
		fill(&s.PreventPodSchedulingIfMissing, false)
		if len(s.VolumeLifecycleModes) == 0 {
			s.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
		}
	},
}

var runtimeClasses = &Kind{
	GroupVersionKind: nodev1.SchemeGroupVersion.WithKind("RuntimeClass"),
	Names:            Names{Plural: "runtimeclasses"},
	Cluster:          true,
	Prototype:        &nodev1.RuntimeClass{},
	Write:            WriteRules{PutCreates: true, PutNeedsVersion: true},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		if obj.(*nodev1.RuntimeClass).Handler != old.(*nodev1.RuntimeClass).Handler {
			return field.ErrorList{field.Invalid(field.NewPath("handler"), nil, apivalidation.FieldImmutableErrorMsg)}
		}
		return nil
	},
}
