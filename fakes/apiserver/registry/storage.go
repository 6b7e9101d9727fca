package registry

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
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
}
