package table

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (t tables) addNodes() {
	add(t, "", "Node", head(
		col("Status", "The status of the node"),
		col("Roles", "The roles of the node"),
		ageCol(),
		col("Version", doc[corev1.NodeSystemInfo]("kubeletVersion")),
		col("Internal-IP", doc[corev1.NodeStatus]("addresses")).wide(),
		col("External-IP", doc[corev1.NodeStatus]("addresses")).wide(),
		col("OS-Image", doc[corev1.NodeSystemInfo]("osImage")).wide(),
		col("Kernel-Version", doc[corev1.NodeSystemInfo]("kernelVersion")).wide(),
		col("Container-Runtime", doc[corev1.NodeSystemInfo]("containerRuntimeVersion")).wide(),
	), nodeRow)
	add(t, nodev1.GroupName, "RuntimeClass", head(col("Handler", metaDoc("handler")), ageCol()),
		func(o *nodev1.RuntimeClass, now time.Time) []any { return []any{o.Name, o.Handler, age(o, now)} })
	add(t, schedulingv1.GroupName, "PriorityClass", head(
		col("Value", doc[schedulingv1.PriorityClass]("value")).of("integer"),
		col("Global-Default", doc[schedulingv1.PriorityClass]("globalDefault")).of("boolean"),
		ageCol(),
		col("PreemptionPolicy", doc[schedulingv1.PriorityClass]("preemptionPolicy")),
	), func(o *schedulingv1.PriorityClass, now time.Time) []any {
		return []any{o.Name, int64(o.Value), o.GlobalDefault, age(o, now), orPointer(o.PreemptionPolicy, "")}
	})
	add(t, storagemigrationv1.SchemeGroupVersion.Group, "StorageVersionMigration",
		[]column{col("Name", metaDoc("name")), col("Resource", "GroupResource to migrate"), col("Status", "Status of the migration")}, migrationRow)
}

func migrationRow(o *storagemigrationv1.StorageVersionMigration, _ time.Time) []any {
	status := "Unknown"
	for _, c := range o.Status.Conditions {
		switch storagemigrationv1.MigrationConditionType(c.Type) {
		case storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationFailed, storagemigrationv1.MigrationSucceeded:
			if c.Status == metav1.ConditionTrue {
				status = c.Type
			}
		}
	}
	return []any{o.Name, (&metav1.GroupResource{Group: o.Spec.Resource.Group, Resource: o.Spec.Resource.Resource}).String(), status}
}

func nodeRow(o *corev1.Node, now time.Time) []any {
	status := "Unknown"
	for _, c := range o.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if c.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if o.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	info := &o.Status.NodeInfo
	kernel := or(info.KernelVersion, "<unknown>")
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		o.Name, status, or(roles(o), "<none>"), age(o, now), info.KubeletVersion,
		address(o, corev1.NodeInternalIP), address(o, corev1.NodeExternalIP),
		or(info.OSImage, "<unknown>"), kernel, or(info.ContainerRuntimeVersion, "<unknown>"),
	}
}

// roles are those that labels give to a node.
func roles(o *corev1.Node) string {
	var list []string
	for _, label := range slices.Sorted(maps.Keys(o.Labels)) {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok {
			list = append(list, role)
		} else if label == "kubernetes.io/role" {
			list = append(list, o.Labels[label])
		}
	}
	return distinct(list)
}

// address is the first address of a kind.
func address(o *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range o.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return "<none>"
}
