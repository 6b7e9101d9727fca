package rest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func init() {
	declare("", "ConfigMap", "Name|Data|Age", func(o *corev1.ConfigMap, now time.Time) []any {
		return []any{o.Name, len(o.Data) + len(o.BinaryData), age(o, now)}
	})
	declare("", "Secret", "Name|Type|Data|Age", func(o *corev1.Secret, now time.Time) []any {
		return []any{o.Name, string(o.Type), len(o.Data), age(o, now)}
	})
	declare("", "Namespace", "Name|Status|Age", func(o *corev1.Namespace, now time.Time) []any {
		return []any{o.Name, string(o.Status.Phase), age(o, now)}
	})
	declare("", "Pod", "Name|Ready|Status|Restarts|Age|+IP|+Node|+Nominated Node|+Readiness Gates", podRow)
	declare("", "Service", "Name|Type|Cluster-IP|External-IP|Port(s)|Age|+Selector", serviceRow)
	declare("", "Node", "Name|Status|Roles|Age|Version|+Internal-IP|+External-IP|+OS-Image|+Kernel-Version|+Container-Runtime", nodeRow)
	declare("", "Event", "Last Seen|Type|Reason|Object|+Subobject|+Source|Message|+First Seen|+Count|+Name", eventRow)
	declare("coordination.k8s.io", "Lease", "Name|Holder|Age", func(o *coordinationv1.Lease, now time.Time) []any {
		holder := ""
		if o.Spec.HolderIdentity != nil {
			holder = *o.Spec.HolderIdentity
		}
		return []any{o.Name, holder, age(o, now)}
	})
}

func podRow(o *corev1.Pod, now time.Time) []any {
	ready, restarts := 0, int32(0)
	status := string(o.Status.Phase)
	if o.Status.Reason != "" {
		status = o.Status.Reason
	}
	for i := range o.Status.ContainerStatuses {
		c := &o.Status.ContainerStatuses[i]
		restarts += c.RestartCount
		switch {
		case c.Ready && c.State.Running != nil:
			ready++
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			status = c.State.Waiting.Reason
		case c.State.Terminated != nil && c.State.Terminated.Reason != "":
			status = c.State.Terminated.Reason
		}
	}
	if o.DeletionTimestamp != nil {
		status = "Terminating"
	}
	gates := "<none>"
	if n := len(o.Spec.ReadinessGates); n > 0 {
		passed := 0
		for _, gate := range o.Spec.ReadinessGates {
			for _, c := range o.Status.Conditions {
				if c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue {
					passed++
				}
			}
		}
		gates = fmt.Sprintf("%d/%d", passed, n)
	}
	return []any{
		o.Name, fmt.Sprintf("%d/%d", ready, len(o.Spec.Containers)), status, fmt.Sprint(restarts), age(o, now),
		orNone(o.Status.PodIP), orNone(o.Spec.NodeName), orNone(o.Status.NominatedNodeName), gates,
	}
}

func serviceRow(o *corev1.Service, now time.Time) []any {
	cluster, external := "<none>", "<none>"
	if len(o.Spec.ClusterIPs) > 0 {
		cluster = o.Spec.ClusterIPs[0]
	}
	addresses := slices.Clone(o.Spec.ExternalIPs)
	for _, ingress := range o.Status.LoadBalancer.Ingress {
		addresses = append(addresses, ingress.IP+ingress.Hostname)
	}
	switch {
	case o.Spec.Type == corev1.ServiceTypeExternalName:
		external = o.Spec.ExternalName
	case len(addresses) > 0:
		external = strings.Join(addresses, ",")
	case o.Spec.Type == corev1.ServiceTypeLoadBalancer:
		external = "<pending>"
	}
	var ports []string
	for _, p := range o.Spec.Ports {
		number := fmt.Sprint(p.Port)
		if p.NodePort > 0 {
			number += fmt.Sprint(":", p.NodePort)
		}
		ports = append(ports, fmt.Sprintf("%s/%s", number, p.Protocol))
	}
	return []any{
		o.Name, string(o.Spec.Type), cluster, external, orNone(strings.Join(ports, ",")), age(o, now),
		labels.FormatLabels(o.Spec.Selector),
	}
}

const roleLabel = "node-role.kubernetes.io/"

func nodeRow(o *corev1.Node, now time.Time) []any {
	status := "Unknown"
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if o.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	var roles []string
	for _, label := range slices.Sorted(maps.Keys(o.Labels)) {
		if role, ok := strings.CutPrefix(label, roleLabel); ok && role != "" {
			roles = append(roles, role)
		}
	}
	address := map[corev1.NodeAddressType]string{}
	for _, a := range o.Status.Addresses {
		if address[a.Type] == "" {
			address[a.Type] = a.Address
		}
	}
	info := &o.Status.NodeInfo
	orUnknown := func(s string) string {
		if s == "" {
			return "<unknown>"
		}
		return s
	}
	return []any{
		o.Name, status, orNone(strings.Join(roles, ",")), age(o, now), info.KubeletVersion,
		orNone(address[corev1.NodeInternalIP]), orNone(address[corev1.NodeExternalIP]),
		orUnknown(info.OSImage), orUnknown(info.KernelVersion), orUnknown(info.ContainerRuntimeVersion),
	}
}

func eventRow(o *corev1.Event, now time.Time) []any {
	first := o.FirstTimestamp.Time
	if first.IsZero() {
		first = o.EventTime.Time
	}
	last, count := o.LastTimestamp.Time, o.Count
	if last.IsZero() {
		last = first
	}
	if o.Series != nil {
		last, count = o.Series.LastObservedTime.Time, o.Series.Count
	}
	source := o.Source.Component
	if source == "" {
		source = o.ReportingController
	}
	object := strings.ToLower(o.InvolvedObject.Kind)
	if o.InvolvedObject.Name != "" {
		object += "/" + o.InvolvedObject.Name
	}
	return []any{
		since(last, now), o.Type, o.Reason, object, o.InvolvedObject.FieldPath, source,
		strings.TrimSpace(o.Message), since(first, now), max(count, 1), o.Name,
	}
}
