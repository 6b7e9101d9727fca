package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
)

var definitions = apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions")

// define makes a definition of widgets with the given versions, in YAML, and the
// given change.
func (a *api) define(versions string, change ...func(*apiextensions.CustomResourceDefinition)) *apiextensions.CustomResourceDefinition {
	a.TB.Helper()
	return a.create(definitions, definitionOf(a.TB, versions, change...)).(*apiextensions.CustomResourceDefinition)
}

func definitionOf(t testing.TB, versions string, change ...func(*apiextensions.CustomResourceDefinition)) *apiextensions.CustomResourceDefinition {
	t.Helper()
	d := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"}}
	d.Spec.Group, d.Spec.Scope = "example.com", apiextensions.NamespaceScoped
	d.Spec.Names = apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"}
	if err := yaml.UnmarshalStrict([]byte(versions), &d.Spec.Versions); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(d)
	}
	return d
}

// refusedFor checks a refusal whose text has part in it.
func (a *api) refusedFor(r *apiserver.Request, code int32, reason metav1.StatusReason, part string) {
	a.Helper()
	_, err := a.Do(r)
	var status *apierrors.StatusError
	switch {
	case !errors.As(err, &status):
		a.Errorf("%s %s: got %v, want a refusal", r.Verb, r.Name, err)
	case status.ErrStatus.Code != code || status.ErrStatus.Reason != reason || !strings.Contains(status.ErrStatus.Message, part):
		a.Errorf("%s %s:\n got %d %s: %s\nwant %d %s: … %s", r.Verb, r.Name, status.ErrStatus.Code, status.ErrStatus.Reason, status.ErrStatus.Message, code, reason, part)
	}
}

// version1 is a single version with a schema for spec.
func version1(spec string) string {
	return `[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: ` + spec + `}}}}]`
}

const sized = `{type: object, properties: {size: {type: integer, default: 1, minimum: 1}, note: {type: string, nullable: true}}}`

func conditions(d *apiextensions.CustomResourceDefinition) string {
	var out []string
	for _, c := range d.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s:%s", c.Type, c.Status, c.Reason))
	}
	return strings.Join(out, " ")
}

func (a *api) definition(name string) *apiextensions.CustomResourceDefinition {
	a.TB.Helper()
	return a.get(definitions, name).(*apiextensions.CustomResourceDefinition)
}

func TestRule14DefinitionsAreEstablishedAfterTheirAnswer(t *testing.T) {
	a := newAPI(t)
	w := a.watch(definitions)
	d := a.define(version1(sized))
	equal(t, "conditions in the answer", conditions(d), "")
	equal(t, "names", fmt.Sprint(d.Spec.Names.Singular, " ", d.Spec.Names.ListKind), "widget WidgetList")
	equal(t, "stored versions", fmt.Sprint(d.Status.StoredVersions), "[v1]")
	equal(t, "conditions later", conditions(a.definition(d.Name)), "NamesAccepted=True:NoConflicts Established=True:InitialNamesAccepted")
	equal(t, "watched", strings.Count(drain(w), "widgets.example.com"), 3)
	if r, ok := a.Store().LookupKind(widgetKind); !ok || !r.Custom {
		t.Errorf("the kind is not served: %+v", r)
	}
}

func TestRule14NamesBelongToTheFirst(t *testing.T) {
	a := newAPI(t)
	a.define(version1(sized))
	second := func(d *apiextensions.CustomResourceDefinition) {
		d.Name, d.Spec.Names.Plural, d.Spec.Names.Singular = "others.example.com", "others", "other"
	}
	a.define(version1(sized), second)
	equal(t, "conditions", conditions(a.definition("others.example.com")), "NamesAccepted=False:ListKindConflict Established=False:NotAccepted")
	others := widgets
	others.Resource = "others"
	a.refusedFor(a.request(apiserver.List, others, ""), 404, "NotFound", "the server could not find the requested resource")
	a.delete(definitions, "widgets.example.com")
	equal(t, "once the names are free", conditions(a.definition("others.example.com")), "NamesAccepted=True:NoConflicts Established=True:InitialNamesAccepted")
	a.list(others)
}

func TestRule14BadDefinitions(t *testing.T) {
	for _, c := range []struct{ name, versions, text string }{
		{"no schema", `[{name: v1, served: true, storage: true}]`, "spec.versions[0].schema.openAPIV3Schema: Required value"},
		{"not structural", version1(`{properties: {a: {type: string}}}`), "spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields"},
		{"no storage", `[{name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}]`, "must have exactly one version marked as storage version"},
		{"a rule that does not compile", version1(`{type: object, x-kubernetes-validations: [{rule: "self.nosuch > 1"}]}`), "undefined field 'nosuch'"},
		{"a rule that costs too much", version1(`{type: object, properties: {l: {type: array, items: {type: array, items: {type: string}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, x == y))"}]}}}}`), "estimated rule cost exceeds budget by factor of"},
		{"a default that is wrong", version1(`{type: object, properties: {size: {type: integer, default: big}}}`), "default: Invalid value: \"string\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAPI(t)
			_, err := a.Do(a.request(apiserver.Create, definitions, "", body(definitionOf(t, c.versions))))
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want %q in it", err, c.text)
			}
			_, again := newAPI(t).Do(a.request(apiserver.Create, definitions, "", body(definitionOf(t, c.versions))))
			equal(t, "the text the next time", again.Error(), err.Error())
		})
	}
}

func spec(o apiserver.Object) string {
	return fmt.Sprint(o.(*unstructured.Unstructured).Object["spec"])
}

func TestRule14PruningAndDefaults(t *testing.T) {
	a := newAPI(t)
	a.define(version1(sized))
	sent := widget("w", map[string]any{"size": nil, "note": nil, "bogus": "x"})
	r := a.must(a.request(apiserver.Create, widgets, "", body(sent)))
	equal(t, "spec", spec(r.Object), "map[note:<nil> size:1]")
	equal(t, "warnings", strings.Join(r.Warnings, "; "), `unknown field "spec.bogus"; unknown field "status"`)
	r = a.must(a.request(apiserver.Create, widgets, "", body(sent), dryRun, func(r *apiserver.Request) {
		r.FieldValidation, r.Object = "Ignore", widget("x", map[string]any{"bogus": "x"})
	}))
	equal(t, "ignored", fmt.Sprint(r.Warnings, " ", spec(r.Object)), "[] map[size:1]")
	a.refusedFor(a.request(apiserver.Patch, widgets, "w", merge(`{"spec":{"nosuch":{}}}`), func(r *apiserver.Request) { r.FieldValidation = "Strict" }),
		422, "Invalid", `\"nosuch\":{}`)
	bare := a.create(widgets, untyped("Widget", "example.com/v1", "bare", nil))
	equal(t, "no default inside of an absent parent", spec(bare), "<nil>")
}

func TestRule14DefaultsOfANewSchemaAreReadAtOnce(t *testing.T) {
	a := newAPI(t)
	d := a.define(version1(`{type: object, properties: {size: {type: integer}, old: {type: string}}}`))
	was := a.create(widgets, widget("w", map[string]any{"size": int64(3), "old": "x"}))
	w := a.watch(widgets)
	drain(w)
	next := a.definition(d.Name)
	next.Spec.Versions = definitionOf(t, version1(`{type: object, properties: {size: {type: integer}, color: {type: string, default: red}}}`)).Spec.Versions
	a.update(definitions, next)
	equal(t, "the watch has ended", w.Ended(), true)
	seen := a.get(widgets, "w")
	equal(t, "spec", spec(seen), "map[color:red size:3]")
	equal(t, "nothing was written", seen.GetResourceVersion(), was.GetResourceVersion())
	equal(t, "in a list", spec(a.list(widgets).Items[0]), "map[color:red size:3]")
	again := a.update(widgets, seen)
	if again.GetResourceVersion() == was.GetResourceVersion() {
		t.Error("an update that changes nothing did not store the default")
	}
	equal(t, "and the next one", a.update(widgets, again).GetResourceVersion(), again.GetResourceVersion())
}

// unchecked comes after all that keeps rules from being checked.
const unchecked = `<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`

func TestRule14InvalidObjects(t *testing.T) {
	a := newAPI(t)
	a.define(version1(`{type: object, required: [size], x-kubernetes-validations: [{rule: "self.size <= self.max", message: "size over max"}], properties: {
		size: {type: integer, minimum: 1}, max: {type: integer, default: 10, x-kubernetes-validations: [{rule: "self >= oldSelf", message: "max never shrinks"}]},
		port: {x-kubernetes-int-or-string: true}, at: {type: string, format: date-time}, tags: {type: array, x-kubernetes-list-type: set, items: {type: string}},
		template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`))
	for _, c := range []struct{ patch, text string }{
		{`{"size":0,"port":1.5}`, `[spec.port: Invalid value: "number": spec.port in body must be of type integer,string: "number", ` +
			`spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1, ` + unchecked + `]`},
		{`{"size":12,"tags":["a","a"]}`, `[spec.tags[1]: Duplicate value: "a", spec: Invalid value: size over max]`},
		{`{"size":11}`, `spec: Invalid value: size over max`},
		{`{"max":9}`, `spec.max: Invalid value: 9: max never shrinks`},
		{`{"at":"yesterday"}`, `spec.at: Invalid value: "yesterday": spec.at in body must be of type date-time: "yesterday", ` + unchecked + `]`},
		{`{"tags":["a","b","a"]}`, `spec.tags[2]: Duplicate value: "a"`},
		{`{"template":{"kind":"","apiVersion":"v1"}}`, `spec.template.kind: Invalid value: "": must not be empty`},
	} {
		a.create(widgets, widget("w", map[string]any{"size": int64(1)}))
		a.refusedFor(a.request(apiserver.Patch, widgets, "w", merge(`{"spec":`+c.patch+`}`)), 422, "Invalid", c.text)
		a.delete(widgets, "w")
	}
}

func TestRule14WhatWasInvalidBeforeMayStay(t *testing.T) {
	a := newAPI(t)
	d := a.define(version1(`{type: object, properties: {size: {type: integer}, other: {type: integer}}}`))
	a.create(widgets, widget("w", map[string]any{"size": int64(0), "other": int64(1)}))
	next := a.definition(d.Name)
	next.Spec.Versions = definitionOf(t, version1(`{type: object, properties: {size: {type: integer, minimum: 1}, other: {type: integer}}}`)).Spec.Versions
	a.update(definitions, next)
	equal(t, "spec", spec(a.patch(widgets, "w", `{"spec":{"other":2}}`)), "map[other:2 size:0]")
	a.refusedFor(a.request(apiserver.Patch, widgets, "w", merge(`{"spec":{"size":-1}}`)), 422, "Invalid", "spec.size in body should be greater than or equal to 1")
}

const twoVersions = `
- {name: v1, served: true, storage: true, subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size, labelSelectorPath: .status.selector}},
   schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string, default: red}}}, status: {type: object, properties: {size: {type: integer}, selector: {type: string}}}}}}}
- {name: v1beta1, served: true, storage: false, deprecated: true, selectableFields: [{jsonPath: .spec.size}],
   schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}, colour: {type: string}}}}}}}`

var beta = schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "widgets"}

func TestRule14VersionsWithoutConversion(t *testing.T) {
	a := newAPI(t)
	a.define(twoVersions)
	old := widget("w", map[string]any{"size": int64(2)})
	old.SetAPIVersion("example.com/v1beta1")
	delete(old.Object, "status")
	r := a.must(a.request(apiserver.Create, beta, "", body(old)))
	equal(t, "answer", fmt.Sprint(r.Object.(*unstructured.Unstructured).GetAPIVersion(), " ", spec(r.Object), " ", r.Warnings),
		"example.com/v1beta1 map[size:2] [example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget]")
	equal(t, "stored", spec(a.get(widgets, "w")), "map[color:red size:2]")
	equal(t, "selected", names(a.list(beta, fielded("spec.size=2"))), "w")
	equal(t, "not selected", names(a.list(beta, fielded("spec.size=3"))), "")
	w := a.watch(beta)
	a.patch(widgets, "w", `{"spec":{"size":3}}`)
	if e, ok := w.Next(); !ok || e.Object.GetObjectKind().GroupVersionKind().Version != "v1beta1" {
		t.Errorf("watched %+v", e)
	}
	same := a.get(beta, "w")
	a.update(beta, same)
	equal(t, "what the version does not know is lost by its updates", spec(a.get(widgets, "w")), "map[color:red size:3]")
}

func TestRule14VersionsWithAConverter(t *testing.T) {
	a := newAPI(t)
	webhook := func(d *apiextensions.CustomResourceDefinition) {
		url := "https://webhooks.invalid"
		d.Spec.Conversion = &apiextensions.CustomResourceConversion{Strategy: apiextensions.WebhookConverter, Webhook: &apiextensions.WebhookConversion{
			ClientConfig: &apiextensions.WebhookClientConfig{URL: &url}, ConversionReviewVersions: []string{"v1"},
		}}
	}
	a.define(twoVersions, webhook)
	a.create(widgets, widget("w", map[string]any{"color": "blue"}))
	a.refusedFor(a.request(apiserver.Get, beta, "w"), 501, "NotImplemented", "does not model the conversion webhook of Widget.example.com")
	a.Store().ConvertBy(widgetKind.GroupKind(), func(obj *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
		obj.SetAPIVersion(to.String())
		from, into := "color", "colour"
		if to.Version == "v1" {
			from, into = into, from
		}
		s := obj.Object["spec"].(map[string]any)
		if s[from] == "none" {
			return nil, fmt.Errorf("no such colour")
		}
		s[into] = s[from]
		return obj, nil
	})
	equal(t, "converted", spec(a.get(beta, "w")), "map[colour:blue]")
	a.patch(beta, "w", `{"spec":{"colour":"green"}}`)
	equal(t, "and back", spec(a.get(widgets, "w")), "map[color:green]")
	a.patch(widgets, "w", `{"spec":{"color":"none"}}`)
	a.refusedFor(a.request(apiserver.List, beta, ""), 500, "", "conversion webhook for example.com/v1, Kind=Widget failed: no such colour")
}

func TestRule14ScaleOfCustomResources(t *testing.T) {
	a := newAPI(t)
	a.define(twoVersions)
	w := widget("w", map[string]any{"size": int64(2)})
	w.Object["status"] = map[string]any{"size": int64(1), "selector": "a=b"}
	a.create(widgets, w)
	a.patch(widgets, "w", `{"status":{"size":1,"selector":"a=b"}}`, sub("status"))
	a.patch(widgets, "w", `{"spec":{"replicas":5}}`, sub("scale"))
	equal(t, "spec", spec(a.get(widgets, "w")), "map[color:red size:5]")
	a.create(widgets, widget("none", map[string]any{}))
	a.refusedFor(a.request(apiserver.Get, widgets, "none", sub("scale")), 500, "InternalError", `the spec replicas field ".spec.size" does not exist`)
	a.refusedFor(a.request(apiserver.Patch, widgets, "w", merge(`{"spec":{"size":-1}}`)), 422, "Invalid", "should be a non-negative integer")
}

func TestRule14ADefinitionWaitsForItsObjects(t *testing.T) {
	a := newAPI(t)
	d := a.define(version1(sized))
	w := widget("held", map[string]any{})
	w.SetFinalizers([]string{"example.com/hold"})
	a.create(widgets, w)
	a.create(widgets, widget("free", map[string]any{}))
	gone := a.delete(definitions, d.Name).Object
	equal(t, "finalizer", fmt.Sprint(gone.GetFinalizers()), "[customresourcecleanup.apiextensions.k8s.io]")
	equal(t, "left", names(a.list(widgets)), "held")
	equal(t, "conditions", strings.Contains(conditions(a.definition(d.Name)), "Terminating=True:InstanceDeletionInProgress"), true)
	a.refusedFor(a.request(apiserver.Create, widgets, "", body(widget("new", map[string]any{}))), 403, "Forbidden",
		`widgets.example.com "new" is forbidden: create not allowed while custom resource definition is terminating`)
	a.patch(widgets, "held", `{"metadata":{"finalizers":null}}`)
	a.refusedFor(a.request(apiserver.Get, definitions, d.Name), 404, "NotFound", `"widgets.example.com" not found`)
	a.refusedFor(a.request(apiserver.List, widgets, ""), 404, "NotFound", "the server could not find the requested resource")
	a.define(version1(sized))
	equal(t, "made anew", names(a.list(widgets)), "")
}

func TestRule14StoresShareWhatIsCompiled(t *testing.T) {
	cache := &crd.Cache{}
	for range 2 {
		a := newAPI(t, func(o *apiserver.Options) { o.Definitions = cache })
		a.define(version1(sized))
		a.refusedFor(a.request(apiserver.Create, widgets, "", body(widget("w", map[string]any{"size": int64(0)}))), 422, "Invalid", "should be greater than or equal to 1")
	}
}

// TestRule14AppliedNumbersAreIntegers: the body of an apply is YAML, whose numbers
// are what they are in JSON. Rules see integers, and the same apply changes nothing.
func TestRule14AppliedNumbersAreIntegers(t *testing.T) {
	a := newAPI(t)
	a.define(version1(`{type: object, x-kubernetes-validations: [{rule: "self.size > 1"}], properties: {size: {type: integer}, weight: {type: number}}}`))
	const config = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {size: 3, weight: 2.5}}`
	first := a.must(a.request(apiserver.Patch, widgets, "a", applied("m", config))).Object
	equal(t, "spec", fmt.Sprintf("%#v", first.(*unstructured.Unstructured).Object["spec"]), `map[string]interface {}{"size":3, "weight":2.5}`)
	size, _, err := unstructured.NestedInt64(first.(*unstructured.Unstructured).Object, "spec", "size")
	equal(t, "size", size, int64(3))
	equal(t, "error", err, nil)
	again := a.must(a.request(apiserver.Patch, widgets, "a", applied("m", config))).Object
	equal(t, "version after the same apply", again.GetResourceVersion(), first.GetResourceVersion())
}

// TestRule14WatchesEndWithTheirDefinition: they show what is deleted with it, and
// end. What is defined anew under the same name begins anew: who watches from before
// is told that this is too long ago, while an old list is still there.
func TestRule14WatchesEndWithTheirDefinition(t *testing.T) {
	a := newAPI(t)
	d := a.define(version1(sized))
	a.create(widgets, widget("w", map[string]any{}))
	before := a.list(widgets).List.ResourceVersion
	w := a.watch(widgets, func(r *apiserver.Request) { r.ResourceVersion = before })
	a.delete(definitions, d.Name)
	if e, ok := w.Next(); !ok || e.Type != watch.Deleted || e.Object.GetName() != "w" {
		t.Errorf("got %v, want the deletion", e)
	}
	if _, ok := w.Next(); ok || !w.Ended() {
		t.Error("the watch has not ended with the definition")
	}
	a.refusedFor(a.request(apiserver.Get, widgets, "w"), 404, "NotFound", "the server could not find the requested resource")
	a.define(version1(sized))
	now := a.list(widgets).List.ResourceVersion
	equal(t, "defined anew", names(a.list(widgets)), "")
	equal(t, "an old list", names(a.list(widgets, func(r *apiserver.Request) { r.ResourceVersion, r.ResourceVersionMatch = before, "Exact" })), "w")
	old := a.watch(widgets, func(r *apiserver.Request) { r.ResourceVersion = before })
	e, ok := old.Next()
	if !ok || e.Type != watch.Error || e.Status.Code != 410 || e.Status.Message != "too old resource version: "+before+" ("+now+")" {
		t.Errorf("a watch from before got %+v", e)
	}
	again := a.watch(widgets, func(r *apiserver.Request) { r.ResourceVersion = now })
	a.create(widgets, widget("v", map[string]any{}))
	equal(t, "a watch from now", drain(again)[:2], "+v")
}

// TestRule14ChangedDefinitionsEndWatches: a change of what is served ends watches, and
// begins a new watch cache; another change does not.
func TestRule14ChangedDefinitionsEndWatches(t *testing.T) {
	a := newAPI(t)
	d := a.define(version1(sized))
	before := a.list(widgets).List.ResourceVersion
	from := func(r *apiserver.Request) { r.ResourceVersion = before }
	w := a.watch(widgets, from)
	a.patch(definitions, d.Name, `{"metadata":{"labels":{"a":"b"}}}`)
	equal(t, "ended by labels", w.Ended(), false)
	a.patch(definitions, d.Name, `{"spec":{"names":{"shortNames":["wd"]}}}`)
	equal(t, "ended by a short name", w.Ended(), true)
	if e, ok := a.watch(widgets, from).Next(); !ok || e.Type != watch.Error || e.Status.Reason != "Expired" {
		t.Errorf("a watch from before the change got %+v", e)
	}
}
