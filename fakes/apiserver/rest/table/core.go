package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func (t tables) addCore() {
	add(t, "", "ConfigMap", head(col("Data", doc[corev1.ConfigMap]("data")), ageCol()), func(o *corev1.ConfigMap, now time.Time) []any {
		return []any{o.Name, len(o.Data) + len(o.BinaryData), age(o, now)}
	})
	add(t, "", "Secret", head(
		col("Type", doc[corev1.Secret]("type")), col("Data", doc[corev1.Secret]("data")), ageCol(),
	), func(o *corev1.Secret, now time.Time) []any {
		return []any{o.Name, string(o.Type), len(o.Data), age(o, now)}
	})
	add(t, "", "Namespace", head(col("Status", "The status of the namespace"), ageCol()), func(o *corev1.Namespace, now time.Time) []any {
		return []any{o.Name, string(o.Status.Phase), age(o, now)}
	})
	add(t, "", "ServiceAccount", head(ageCol()), func(o *corev1.ServiceAccount, now time.Time) []any {
		return []any{o.Name, age(o, now)}
	})
	add(t, "", "PodTemplate", head(append(containerCols(), col("Pod Labels", "The labels for the pod template."))...),
		func(o *corev1.PodTemplate, _ time.Time) []any {
			names, images := containers(o.Template.Spec.Containers)
			return []any{o.Name, names, images, labels.FormatLabels(o.Template.Labels)}
		})
	add(t, "", "ResourceQuota", head(
		col("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
		col("Limit", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."),
		ageCol(),
	), quotaRow)
	add(t, coordinationv1.GroupName, "Lease", head(col("Holder", doc[coordinationv1.LeaseSpec]("holderIdentity")), ageCol()),
		func(o *coordinationv1.Lease, now time.Time) []any {
			return []any{o.Name, orPointer(o.Spec.HolderIdentity, ""), age(o, now)}
		})
	add(t, "", "Event", eventCols(), eventRow)
	add(t, eventsv1.GroupName, "Event", eventCols(), func(o *eventsv1.Event, now time.Time) []any {
		return eventRow(coreEvent(o), now)
	})
}

func quotaRow(o *corev1.ResourceQuota, now time.Time) []any {
	var requests, limits []string
	for _, resource := range slices.Sorted(maps.Keys(o.Status.Hard)) {
		hard, used := o.Status.Hard[resource], o.Status.Used[resource]
		text := fmt.Sprintf("%s: %s/%s", resource, used.String(), hard.String())
		if strings.HasPrefix(string(resource), "limits.") {
			limits = append(limits, text)
		} else {
			requests = append(requests, text)
		}
	}
	return []any{o.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), age(o, now)}
}

func eventCols() []column {
	last := column{name()}.wide()
	return []column{
		col("Last Seen", doc[corev1.Event]("lastTimestamp")),
		col("Type", doc[corev1.Event]("type")),
		col("Reason", doc[corev1.Event]("reason")),
		col("Object", doc[corev1.Event]("involvedObject")),
		col("Subobject", doc[corev1.ObjectReference]("fieldPath")).wide(),
		col("Source", doc[corev1.Event]("source")).wide(),
		col("Message", doc[corev1.Event]("message")),
		col("First Seen", doc[corev1.Event]("firstTimestamp")).wide(),
		col("Count", doc[corev1.Event]("count")).wide(),
		last,
	}
}

func eventRow(o *corev1.Event, now time.Time) []any {
	first, last, count := o.FirstTimestamp.Time, o.LastTimestamp.Time, o.Count
	if first.IsZero() {
		first = o.EventTime.Time
	}
	if last.IsZero() {
		last = first
	}
	if o.Series != nil {
		last, count = o.Series.LastObservedTime.Time, o.Series.Count
	} else if count == 0 {
		count = 1
	}
	source := or(o.Source.Component, o.ReportingController)
	if host := or(o.Source.Host, o.ReportingInstance); host != "" {
		source += ", " + host
	}
	object := strings.ToLower(o.InvolvedObject.Kind)
	if o.InvolvedObject.Name != "" {
		object += "/" + o.InvolvedObject.Name
	}
	return []any{
		since(last, now), o.Type, o.Reason, object, o.InvolvedObject.FieldPath, source,
		strings.TrimSpace(o.Message), since(first, now), int64(count), o.Name,
	}
}

// coreEvent has the fields of an event that its row shows.
func coreEvent(o *eventsv1.Event) *corev1.Event {
	e := &corev1.Event{
		ObjectMeta: o.ObjectMeta, InvolvedObject: o.Regarding, Reason: o.Reason, Message: o.Note, Type: o.Type,
		EventTime: o.EventTime, ReportingController: o.ReportingController, ReportingInstance: o.ReportingInstance,
		Source: o.DeprecatedSource, FirstTimestamp: o.DeprecatedFirstTimestamp, LastTimestamp: o.DeprecatedLastTimestamp,
		Count: o.DeprecatedCount,
	}
	if o.Series != nil {
		e.Series = &corev1.EventSeries{Count: o.Series.Count, LastObservedTime: o.Series.LastObservedTime}
	}
	return e
}
