package table

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (t tables) addStorage() {
	t.addVolumes()
	classes := add(t, storagev1.GroupName, "StorageClass", head(
		col("Provisioner", doc[storagev1.StorageClass]("provisioner")),
		col("ReclaimPolicy", doc[storagev1.StorageClass]("reclaimPolicy")),
		col("VolumeBindingMode", doc[storagev1.StorageClass]("volumeBindingMode")),
		col("AllowVolumeExpansion", doc[storagev1.StorageClass]("allowVolumeExpansion")),
		ageCol(),
	), func(o *storagev1.StorageClass, now time.Time) []any {
		return []any{
			o.Name, o.Provisioner, orPointer(o.ReclaimPolicy, string(corev1.PersistentVolumeReclaimDelete)),
			orPointer(o.VolumeBindingMode, string(storagev1.VolumeBindingImmediate)), deref(o.AllowVolumeExpansion, false), age(o, now),
		}
	})
	classes.mark = markDefaultClass
	add(t, storagev1.GroupName, "VolumeAttachment", head(
		column{metav1.TableColumnDefinition{Name: "Attacher", Type: "string", Format: "name", Description: doc[storagev1.VolumeAttachmentSpec]("attacher")}},
		col("PV", doc[storagev1.VolumeAttachmentSource]("persistentVolumeName")),
		col("Node", doc[storagev1.VolumeAttachmentSpec]("nodeName")),
		col("Attached", doc[storagev1.VolumeAttachmentStatus]("attached")).of("boolean"),
		ageCol(),
	), func(o *storagev1.VolumeAttachment, now time.Time) []any {
		return []any{
			o.Name, o.Spec.Attacher, orPointer(o.Spec.Source.PersistentVolumeName, ""), o.Spec.NodeName, o.Status.Attached, age(o, now),
		}
	})
	add(t, storagev1.GroupName, "CSINode", head(
		col("Drivers", "Drivers indicates the number of CSI drivers registered on the node").of("integer"), ageCol(),
	), func(o *storagev1.CSINode, now time.Time) []any {
		return []any{o.Name, len(o.Spec.Drivers), age(o, now)}
	})
	add(t, storagev1.GroupName, "CSIDriver", head(
		col("AttachRequired", doc[storagev1.CSIDriverSpec]("attachRequired")).of("boolean"),
		col("PodInfoOnMount", doc[storagev1.CSIDriverSpec]("podInfoOnMount")).of("boolean"),
		col("StorageCapacity", doc[storagev1.CSIDriverSpec]("storageCapacity")).of("boolean"),
		col("TokenRequests", doc[storagev1.CSIDriverSpec]("tokenRequests")),
		col("RequiresRepublish", doc[storagev1.CSIDriverSpec]("requiresRepublish")).of("boolean"),
		col("Modes", doc[storagev1.CSIDriverSpec]("volumeLifecycleModes")),
		ageCol(),
	), driverRow)
}

func (t tables) addVolumes() {
	add(t, "", "PersistentVolume", head(
		col("Capacity", doc[corev1.PersistentVolumeSpec]("capacity")),
		col("Access Modes", doc[corev1.PersistentVolumeSpec]("accessModes")),
		col("Reclaim Policy", doc[corev1.PersistentVolumeSpec]("persistentVolumeReclaimPolicy")),
		col("Status", doc[corev1.PersistentVolumeStatus]("phase")),
		col("Claim", doc[corev1.PersistentVolumeSpec]("claimRef")),
		col("StorageClass", "StorageClass of the pv"),
		col("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
		col("Reason", doc[corev1.PersistentVolumeStatus]("reason")),
		ageCol(),
		col("VolumeMode", doc[corev1.PersistentVolumeSpec]("volumeMode")).wide(),
	), volumeRow)
	add(t, "", "PersistentVolumeClaim", head(
		col("Status", doc[corev1.PersistentVolumeClaimStatus]("phase")),
		col("Volume", doc[corev1.PersistentVolumeClaimSpec]("volumeName")),
		col("Capacity", doc[corev1.PersistentVolumeClaimStatus]("capacity")),
		col("Access Modes", doc[corev1.PersistentVolumeClaimStatus]("accessModes")),
		col("StorageClass", "StorageClass of the pvc"),
		col("VolumeAttributesClass", "VolumeAttributesClass of the pvc"),
		ageCol(),
		col("VolumeMode", doc[corev1.PersistentVolumeClaimSpec]("volumeMode")).wide(),
	), claimRow)
}

func volumeRow(o *corev1.PersistentVolume, now time.Time) []any {
	claim, phase := "", string(o.Status.Phase)
	if ref := o.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	if o.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	size := o.Spec.Capacity[corev1.ResourceStorage]
	return []any{
		o.Name, size.String(), accessModes(o.Spec.AccessModes), string(o.Spec.PersistentVolumeReclaimPolicy), phase, claim,
		class(o, o.Spec.StorageClassName), orPointer(o.Spec.VolumeAttributesClassName, "<unset>"), o.Status.Reason, age(o, now),
		orPointer(o.Spec.VolumeMode, "<unset>"),
	}
}

func claimRow(o *corev1.PersistentVolumeClaim, now time.Time) []any {
	phase, capacity, modes := string(o.Status.Phase), "", ""
	if o.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	if o.Spec.VolumeName != "" {
		size := o.Status.Capacity[corev1.ResourceStorage]
		capacity, modes = size.String(), accessModes(o.Status.AccessModes)
	}
	return []any{
		o.Name, phase, o.Spec.VolumeName, capacity, modes, class(o, orPointer(o.Spec.StorageClassName, "")),
		orPointer(o.Spec.VolumeAttributesClassName, "<unset>"), age(o, now), orPointer(o.Spec.VolumeMode, "<unset>"),
	}
}

// class is the name of a storage class; an old annotation goes before the field.
func class(o metav1.Object, field string) string {
	if name, ok := o.GetAnnotations()[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	return field
}

func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var out []string
	for _, m := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		short string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, m.mode) {
			out = append(out, m.short)
		}
	}
	return strings.Join(out, ",")
}

// markDefaultClass marks the class that is in effect the default: of those that
// say so, the youngest, and of equally old ones the first by name.
func markDefaultClass(objects []Object, rows []metav1.TableRow) {
	best := -1
	for i, obj := range objects {
		annotations := obj.GetAnnotations()
		if annotations["storageclass.kubernetes.io/is-default-class"] != "true" &&
			annotations["storageclass.beta.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		made, bestMade := obj.GetCreationTimestamp(), objects[best].GetCreationTimestamp()
		if made.After(bestMade.Time) || made.Equal(&bestMade) && obj.GetName() < objects[best].GetName() {
			best = i
		}
	}
	if best >= 0 {
		rows[best].Cells[0] = objects[best].GetName() + " (default)"
	}
}

func driverRow(o *storagev1.CSIDriver, now time.Time) []any {
	var modes, audiences []string
	for _, m := range o.Spec.VolumeLifecycleModes {
		modes = append(modes, string(m))
	}
	tokens := "<unset>"
	if o.Spec.TokenRequests != nil {
		for _, r := range o.Spec.TokenRequests {
			audiences = append(audiences, r.Audience)
		}
		tokens = strings.Join(audiences, ",")
	}
	return []any{
		o.Name, deref(o.Spec.AttachRequired, true), deref(o.Spec.PodInfoOnMount, false), deref(o.Spec.StorageCapacity, false),
		tokens, deref(o.Spec.RequiresRepublish, false), or(strings.Join(modes, ","), "<none>"), age(o, now),
	}
}
