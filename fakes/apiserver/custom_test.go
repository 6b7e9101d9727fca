package apiserver_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	widgets    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// Widget is a custom resource with a Go type.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}

type WidgetSpec struct {
	Size  int      `json:"size,omitempty"`
	Parts []string `json:"parts"`
}

type WidgetStatus struct {
	Ready bool `json:"ready,omitempty"`
}

func (w *Widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Spec.Parts = slices.Clone(w.Spec.Parts)
	return &c
}

func withWidgets(t *testing.T, info apiserver.KindInfo, opts ...func(*apiserver.Options)) *api {
	a := newAPI(t, opts...)
	info.GVK = widgetKind
	if err := a.Store().Register(info); err != nil {
		t.Fatal(err)
	}
	return a
}

func widget(name string, spec map[string]any) *unstructured.Unstructured {
	return untyped("Widget", "example.com/v1", name, map[string]any{"spec": spec, "status": map[string]any{"ready": true}})
}

func TestRule14StatusIsPartOfTheObjectOrNot(t *testing.T) {
	for _, own := range []bool{false, true} {
		a := withWidgets(t, apiserver.KindInfo{Status: own})
		got := a.create(widgets, widget("w", map[string]any{"size": int64(1)})).(*unstructured.Unstructured)
		_, found, _ := unstructured.NestedBool(got.Object, "status", "ready")
		equal(t, "status on create", found, !own)
		equal(t, "generation", got.GetGeneration(), 1)
		equal(t, "a label", a.patch(widgets, "w", `{"metadata":{"labels":{"l":"1"}}}`).GetGeneration(), 1)
		equal(t, "spec", a.patch(widgets, "w", `{"spec":{"size":2}}`).GetGeneration(), 2)
		equal(t, "kind", got.GetKind(), "Widget")
		if !own {
			equal(t, "status counts", a.patch(widgets, "w", `{"status":{"ready":false}}`).GetGeneration(), 3)
			a.refused(a.request(apiserver.Patch, widgets, "w", merge(`{}`), sub("status")), 404, "NotFound", `widgets.example.com "w" not found`)
			continue
		}
		got = a.patch(widgets, "w", `{"metadata":{"labels":{"l":"2"}},"spec":{"size":3},"status":{"ready":false}}`, sub("status")).(*unstructured.Unstructured)
		size, _, _ := unstructured.NestedInt64(got.Object, "spec", "size")
		equal(t, "a status write takes nothing else", size, 2)
		equal(t, "labels", got.GetLabels(), map[string]string{"l": "1"})
		equal(t, "generation", got.GetGeneration(), 2)
	}
}

func TestRule14WritesOfCustomResources(t *testing.T) {
	a := withWidgets(t, apiserver.KindInfo{
		Status: true,
		Default: func(o apiserver.Object) {
			spec, _ := o.(*unstructured.Unstructured).Object["spec"].(map[string]any)
			if _, ok := spec["color"]; spec != nil && !ok {
				spec["color"] = "red"
			}
		},
		Validate: func(o apiserver.Object) field.ErrorList {
			if size, _, _ := unstructured.NestedInt64(o.(*unstructured.Unstructured).Object, "spec", "size"); size < 1 {
				return field.ErrorList{field.Invalid(field.NewPath("spec", "size"), size, "should be greater than or equal to 1")}
			}
			return nil
		},
		Selectable: map[string]func(apiserver.Object) string{"spec.color": func(o apiserver.Object) string {
			s, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "spec", "color")
			return s
		}},
	})
	a.create(widgets, widget("w", map[string]any{"size": int64(1)}))
	equal(t, "defaulted and selected", names(a.list(widgets, fielded("spec.color=red"))), "w")
	a.refused(a.request(apiserver.Patch, widgets, "w", merge(`{"spec":{"size":0}}`)), 422, "Invalid",
		`Widget.example.com "w" is invalid: spec.size: Invalid value: 0: should be greater than or equal to 1`)
	a.refused(a.request(apiserver.Update, widgets, "w", body(widget("w", map[string]any{"size": int64(2)}))), 422, "Invalid",
		`widgets.example.com "w" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`)
	a.refused(a.request(apiserver.Patch, widgets, "w", patchType(types.StrategicMergePatchType, `{}`)), 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
	a.refused(a.request(apiserver.List, widgets, "", fielded("spec.size=1")), 400, "BadRequest", "field label not supported: spec.size")
	equal(t, "a version of the object is not changed by the next", a.get(widgets, "w", version("0")).GetResourceVersion(), "5")
}

func TestRule14GoTypesOfCustomResources(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(widgetKind, &Widget{})
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	a := withWidgets(t, apiserver.KindInfo{Status: true}, func(o *apiserver.Options) { o.Scheme = scheme })
	w := &Widget{ObjectMeta: metav1.ObjectMeta{Name: "w", Finalizers: []string{"unqualified"}}, Spec: WidgetSpec{Size: 1, Parts: []string{}}, Status: WidgetStatus{Ready: true}}
	got := a.create(widgets, w).(*Widget)
	equal(t, "status", got.Status.Ready, false)
	if a.get(widgets, "w", func(r *apiserver.Request) { r.Shared = true }).(*Widget).Spec.Parts == nil {
		t.Error("an empty list without omitempty became null")
	}
	got.Spec.Size, got.Status.Ready = 2, true
	got = a.update(widgets, got).(*Widget)
	equal(t, "generation and status", got.Generation*10+map[bool]int64{true: 1}[got.Status.Ready], 20)
	got.Spec.Size, got.Status.Ready = 9, true
	got = a.update(widgets, got, sub("status")).(*Widget)
	equal(t, "after a status write", got.Spec.Size*10+map[bool]int{true: 1}[got.Status.Ready], 21)
	equal(t, "an untyped client", a.patch(widgets, "w", `{"spec":{"size":3}}`).(*Widget).Spec.Size, 3)
}

func TestKindsAreRegisteredOnce(t *testing.T) {
	st := apiserver.NewStore(apiserver.Options{})
	if err := st.Register(apiserver.KindInfo{GVK: widgetKind, Plural: "widgets", ShortNames: []string{"wd"}}); err != nil {
		t.Fatal(err)
	}
	if err := st.Register(apiserver.KindInfo{GVK: widgetKind}); err == nil {
		t.Error("registered twice")
	}
	if err := st.Register(apiserver.KindInfo{}); err == nil {
		t.Error("registered without a kind")
	}
	r, ok := st.LookupKind(widgetKind)
	equal(t, "found", ok, true)
	equal(t, "resource", *r, apiserver.Resource{
		Group: "example.com", Version: "v1", Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList", Stored: widgetKind, Namespaced: true, Custom: true,
		Verbs: r.Verbs, ShortNames: []string{"wd"},
	})
	if other := apiserver.NewStore(apiserver.Options{}); other.New(widgets) != nil {
		t.Error("another store knows the kind")
	}
}
