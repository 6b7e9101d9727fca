package registry

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// events are one store with two faces: v1, and events.k8s.io/v1 with other names
// for the same fields and stricter rules.
var events = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"),
	Names:            Names{Plural: "events", ShortNames: []string{"ev"}},
	Uncached:         true,
	LooseMetadata:    true,
	LateMetadata:     true,
	Prototype:        &corev1.Event{},
	Naming:           pathName,
	Write:            WriteRules{PutCreates: true},
	Delete:           DeleteRules{NoGC: true},
	PlainFieldError:  true,
	Fields: []*store.Field{
		eventField("involvedObject.kind", func(e *corev1.Event) string { return e.InvolvedObject.Kind }),
		eventField("involvedObject.namespace", func(e *corev1.Event) string { return e.InvolvedObject.Namespace }),
		eventField("involvedObject.name", func(e *corev1.Event) string { return e.InvolvedObject.Name }),
		eventField("involvedObject.uid", func(e *corev1.Event) string { return string(e.InvolvedObject.UID) }),
		eventField("involvedObject.apiVersion", func(e *corev1.Event) string { return e.InvolvedObject.APIVersion }),
		eventField("involvedObject.resourceVersion", func(e *corev1.Event) string { return e.InvolvedObject.ResourceVersion }),
		eventField("involvedObject.fieldPath", func(e *corev1.Event) string { return e.InvolvedObject.FieldPath }),
		eventField("reason", func(e *corev1.Event) string { return e.Reason }),
		eventField("reportingComponent", func(e *corev1.Event) string { return e.ReportingController }),
		eventField("source", eventSource),
		eventField("type", func(e *corev1.Event) string { return e.Type }),
	},
	Validate: func(c *Context, obj Object) field.ErrorList {
		e := obj.(*corev1.Event)
		errs := validateEvent(e, c.Version)
		if c.Version == eventsv1.SchemeGroupVersion {
			errs = append(errs, validateNewEvent(e)...)
		}
		return errs
	},
	ValidateUpdate: func(c *Context, obj, old Object) field.ErrorList {
		errs := validateEvent(obj.(*corev1.Event), c.Version)
		if c.Version == eventsv1.SchemeGroupVersion {
			errs = append(errs, validateSeriesUpdate(obj.(*corev1.Event), old.(*corev1.Event))...)
		}
		return errs
	},
	Versions: []Version{{
		GroupVersionKind: eventsv1.SchemeGroupVersion.WithKind("Event"),
		Prototype:        &eventsv1.Event{},
		From:             func(o Object) Object { return newEvent(o.(*corev1.Event)) },
		To:               func(o Object) Object { return coreEvent(o.(*eventsv1.Event)) },
		Fields: map[string]string{
			"reason": "reason", "type": "type", "reportingController": "reportingComponent",
			"regarding.kind": "involvedObject.kind", "regarding.namespace": "involvedObject.namespace",
			"regarding.name": "involvedObject.name", "regarding.uid": "involvedObject.uid",
			"regarding.apiVersion": "involvedObject.apiVersion", "regarding.fieldPath": "involvedObject.fieldPath",
			"regarding.resourceVersion": "involvedObject.resourceVersion",
		},
	}},
}

func eventField(name string, get func(*corev1.Event) string) *store.Field {
	return &store.Field{Name: name, Get: func(o Object) string { return get(o.(*corev1.Event)) }}
}

func eventSource(e *corev1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}

// newEvent and coreEvent copy: what they return shares nothing with what they
// are given.

func newEvent(in *corev1.Event) *eventsv1.Event {
	e := in.DeepCopy()
	return &eventsv1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, Series: (*eventsv1.EventSeries)(e.Series),
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance, Action: e.Action, Reason: e.Reason,
		Regarding: e.InvolvedObject, Related: e.Related, Note: e.Message, Type: e.Type, DeprecatedSource: e.Source,
		DeprecatedFirstTimestamp: e.FirstTimestamp, DeprecatedLastTimestamp: e.LastTimestamp, DeprecatedCount: e.Count,
	}
}

func coreEvent(in *eventsv1.Event) *corev1.Event {
	e := in.DeepCopy()
	return &corev1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, Series: (*corev1.EventSeries)(e.Series),
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance, Action: e.Action, Reason: e.Reason,
		InvolvedObject: e.Regarding, Related: e.Related, Message: e.Note, Type: e.Type, Source: e.DeprecatedSource,
		FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp, Count: e.DeprecatedCount,
	}
}

func validateEvent(e *corev1.Event, version schema.GroupVersion) field.ErrorList {
	var errs field.ErrorList
	wrongNamespace := func() {
		errs = append(errs, field.Invalid(field.NewPath("involvedObject", "namespace"), e.InvolvedObject.Namespace, "does not match event.namespace"))
	}
	about := e.InvolvedObject.Namespace
	if e.EventTime.IsZero() {
		if about == "" && e.Namespace != metav1.NamespaceNone && e.Namespace != metav1.NamespaceDefault || about != "" && about != e.Namespace {
			wrongNamespace()
		}
		return errs
	}
	if about == "" && e.Namespace != metav1.NamespaceDefault && e.Namespace != metav1.NamespaceSystem {
		wrongNamespace()
	}
	controller := "reportingController"
	if version == corev1.SchemeGroupVersion {
		controller = "reportingComponent"
	}
	for _, f := range []struct{ name, value string }{
		{controller, e.ReportingController}, {"reportingInstance", e.ReportingInstance}, {"action", e.Action}, {"reason", e.Reason},
	} {
		if f.value == "" {
			errs = append(errs, field.Required(field.NewPath(f.name), ""))
			if f.name == controller { // which must also be a name
				for _, msg := range validation.IsQualifiedName("") {
					errs = append(errs, field.Invalid(field.NewPath(f.name), "", msg))
				}
			}
			continue
		}
		if f.name == controller {
			errs = append(errs, qualifiedName(f.value, field.NewPath(f.name))...)
		}
		if len(f.value) > 128 {
			errs = append(errs, field.Invalid(field.NewPath(f.name), "", "can have at most 128 characters"))
		}
	}
	if len(e.Message) > 1024 {
		errs = append(errs, field.Invalid(field.NewPath("message"), "", "can have at most 1024 characters"))
	}
	return errs
}

func validateNewEvent(e *corev1.Event) field.ErrorList {
	errs := validateSeries(e)
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", "has invalid value: "+e.Type))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !e.FirstTimestamp.IsZero()}, {"lastTimestamp", !e.LastTimestamp.IsZero()},
		{"count", e.Count != 0}, {"source", e.Source != corev1.EventSource{}},
	} {
		if f.set {
			errs = append(errs, field.Invalid(field.NewPath(f.name), "", "needs to be unset"))
		}
	}
	return errs
}

func validateSeries(e *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if e.Series == nil {
		return nil
	}
	if e.Series.Count < 2 {
		errs = append(errs, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if e.Series.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return errs
}

func validateSeriesUpdate(e, was *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if len(fixed(e.Series, was.Series, nil)) > 0 {
		errs = validateSeries(e)
	}
	for _, f := range []struct {
		name     string
		now, was any
	}{
		{"involvedObject", e.InvolvedObject, was.InvolvedObject}, {"reason", e.Reason, was.Reason}, {"message", e.Message, was.Message},
		{"source", e.Source, was.Source}, {"count", e.Count, was.Count}, {"type", e.Type, was.Type}, {"action", e.Action, was.Action},
		{"related", e.Related, was.Related}, {"reportingController", e.ReportingController, was.ReportingController},
		{"reportingInstance", e.ReportingInstance, was.ReportingInstance},
	} {
		errs = append(errs, fixed(f.now, f.was, field.NewPath(f.name))...)
	}
	return errs
}
