package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// Manifests is one Kubernetes manifest or a list of them. Manifests of built-in
// kinds are checked field by field. Their values are never quoted in messages:
// they may be secrets.
type Manifests []Manifest

// Manifest is one API object as written in a scenario.
type Manifest struct {
	// Object is typed for built-in kinds and unstructured otherwise. Runs share
	// it: copy before use.
	Object client.Object
	// Content is the object as written, for patches and conditions.
	Content map[string]any
	kind    objectKind
}

// Content is any YAML mapping, as the JSON types.
type Content map[string]any

// KindName names an API kind: Secret, apps/v1/Deployment.
type KindName string

type (
	manifestsShape struct{ kinds *kinds }
	contentShape   struct{}
	kindShape      struct{ kinds *kinds }
)

// Decode reads one manifest or a list.
func (s manifestsShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	var all Manifests
	d.Private(func() {
		if at.Node.Kind != yaml.SequenceNode {
			all = append(all, s.manifest(d, at))
			return
		}
		for i, item := range at.Node.Content {
			all = append(all, s.manifest(d, at.Index(i, item)))
		}
	})
	out.Set(reflect.ValueOf(all))
}

func (s manifestsShape) manifest(d *form.Decoder, at form.Place) Manifest {
	var m Manifest
	if at.Node.Kind != yaml.MappingNode {
		d.Fail(at, "expected a Kubernetes manifest: a mapping with apiVersion, kind and metadata")
		return m
	}
	m.Content, _ = plain(d, at).(map[string]any)
	u := &unstructured.Unstructured{Object: m.Content}
	for _, needed := range []struct{ path, value string }{
		{"apiVersion", textAt(m.Content, "apiVersion")}, {"kind", textAt(m.Content, "kind")}, {"metadata.name", textAt(m.Content, "metadata", "name")},
	} {
		if needed.value == "" {
			d.Fail(at, "the manifest has no %s", needed.path)
			return m
		}
	}
	gv, err := schema.ParseGroupVersion(u.GetAPIVersion())
	if err != nil {
		d.Fail(s.locate(at, "apiVersion"), "%q is not an API version", u.GetAPIVersion())
		return m
	}
	kinds := kindsOf(d, s.kinds)
	m.kind = kinds.of(gv.WithKind(u.GetKind()))
	m.Object = u
	switch known, named := kinds.byName[u.GetKind()]; {
	case m.kind.served && kinds.scheme.Recognizes(m.kind.GVK):
		s.typed(d, at, &m)
	case m.kind.served:
		s.custom(d, at, &m, kinds)
	case named && known.GVK.Group == gv.Group:
		d.FailName(s.locate(at, "apiVersion"), u.GetAPIVersion(), []string{known.GVK.GroupVersion().String()},
			"%s has no kind %s", u.GetAPIVersion(), u.GetKind())
	case gv.Group == "" || !strings.Contains(gv.Group, "."):
		d.FailNear(s.locate(at, "kind"), u.GetKind(), kinds.names(), "%s has no kind %q", u.GetAPIVersion(), u.GetKind())
	}
	return m
}

// custom checks a manifest of a kind that the scenario defines: a field that its
// schema does not have is misspelt.
func (s manifestsShape) custom(d *form.Decoder, at form.Place, m *Manifest, kinds *kinds) {
	s.checkNamespace(d, at, m)
	schema := kinds.store.Schema(m.kind.GVR)
	if schema == nil {
		return
	}
	unknown, err := schema.Coerce(m.Object.DeepCopyObject().(client.Object), true)
	if err != nil {
		d.Fail(at, "the manifest cannot be read as its kind")
		return
	}
	for _, path := range unknown {
		d.Fail(s.locate(at, path), "the schema of %s has no field %s", m.kind.GVK.Kind, path)
	}
}

// checkNamespace refuses a manifest that has a namespace and must not, or has none
// and must.
func (s manifestsShape) checkNamespace(d *form.Decoder, at form.Place, m *Manifest) {
	switch namespace := m.Object.GetNamespace(); {
	case m.kind.clustered && namespace != "":
		d.Fail(s.locate(at, "metadata.namespace"), "a %s lives in no namespace", m.kind.GVK.Kind)
	case !m.kind.clustered && namespace == "":
		d.Fail(s.locate(at, "metadata"), "the manifest has no metadata.namespace")
	}
}

// typed reads a manifest of a built-in kind as its Go type, strictly.
func (s manifestsShape) typed(d *form.Decoder, at form.Place, m *Manifest) {
	object, err := s.kinds.scheme.New(m.kind.GVK)
	if err != nil {
		d.Fail(at, "%v", err)
		return
	}
	text, err := json.Marshal(m.Content)
	if err != nil {
		d.Fail(at, "%v", err)
		return
	}
	typed, ok := object.(client.Object)
	if !ok {
		d.Fail(s.locate(at, "kind"), "%s is not the kind of an object", m.kind.GVK.Kind)
		return
	}
	strict, err := kjson.UnmarshalStrict(text, typed, kjson.DisallowUnknownFields)
	if err != nil {
		s.typeError(d, at, err)
		return
	}
	for _, problem := range strict {
		path, ok := strings.CutPrefix(problem.Error(), `unknown field "`)
		path = strings.TrimSuffix(path, `"`)
		if !ok {
			d.Fail(at, "%v", problem)
			continue
		}
		parent, name := "", path
		if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
			parent, name = path[:dot], path[dot+1:]
		}
		d.UnknownField(s.locate(at, path), name, jsonFields(reflect.TypeOf(typed).Elem(), parent))
	}
	typed.GetObjectKind().SetGroupVersionKind(m.kind.GVK)
	m.Object = typed
	s.checkNamespace(d, at, m)
}

// typeError reports a value of the wrong type without repeating the value.
func (s manifestsShape) typeError(d *form.Decoder, at form.Place, err error) {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		kind, _, _ := strings.Cut(wrong.Value, " ")
		d.Fail(s.locate(at, wrong.Field), "the field %s does not take %s", wrong.Field, article(kind))
		return
	}
	message := err.Error()
	if strings.Contains(message, "base64") {
		d.Fail(at, "a value under data is not base64; stringData takes plain text")
		return
	}
	if _, after, ok := strings.Cut(message, "cannot unmarshal "); ok {
		kind, rest, _ := strings.Cut(after, " ")
		if _, field, ok := strings.Cut(rest, "Go struct field "); ok {
			field, _, _ = strings.Cut(field, " ")
			_, path, _ := strings.Cut(field, ".")
			d.Fail(s.locate(at, path), "the field %s does not take %s", path, article(kind))
			return
		}
	}
	d.Fail(at, "the manifest cannot be read as its kind")
}

// article is a kind of JSON value with its article.
func article(kind string) string {
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

// locate finds the value at a path such as spec.containers[0].name, or the
// deepest part of it that exists.
func (s manifestsShape) locate(at form.Place, path string) form.Place {
	for _, part := range strings.Split(path, ".") {
		name, index, indexed := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		next, ok := child(at, name)
		if !ok {
			return at
		}
		at = next
		if indexed {
			i, err := strconv.Atoi(index)
			if err != nil || at.Node.Kind != yaml.SequenceNode || i >= len(at.Node.Content) {
				return at
			}
			at = at.Index(i, at.Node.Content[i])
		}
	}
	return at
}

func child(at form.Place, name string) (form.Place, bool) {
	if at.Node.Kind != yaml.MappingNode {
		return at, false
	}
	for i := 0; i+1 < len(at.Node.Content); i += 2 {
		if at.Node.Content[i].Value == name {
			return at.Field(name, at.Node.Content[i+1]), true
		}
	}
	return at, false
}

// jsonFields lists the JSON names of the struct found at a path inside t.
func jsonFields(t reflect.Type, path string) []string {
	for path != "" {
		part, rest, _ := strings.Cut(path, ".")
		name, _, indexed := strings.Cut(part, "[")
		t = fieldType(t, name)
		for indexed && t != nil && t.Kind() == reflect.Slice {
			t, indexed = t.Elem(), false
		}
		path = rest
	}
	var names []string
	eachJSONField(t, func(name string, _ reflect.Type) { names = append(names, name) })
	return names
}

func fieldType(t reflect.Type, name string) (found reflect.Type) {
	eachJSONField(t, func(n string, ft reflect.Type) {
		if n == name {
			found = ft
		}
	})
	return found
}

func eachJSONField(t reflect.Type, each func(string, reflect.Type)) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" && t.Field(i).Anonymous {
			eachJSONField(t.Field(i).Type, each)
		} else if name != "" && name != "-" {
			each(name, t.Field(i).Type)
		}
	}
}

func textAt(content map[string]any, path ...string) string {
	text, _, _ := unstructured.NestedString(content, path...)
	return text
}

// plain turns a YAML value into the types of decoded JSON.
func plain(d *form.Decoder, at form.Place) any {
	n := at.Node
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		d.Mapping(at, "a mapping", func(name string, _, value form.Place) { m[name] = plain(d, value) })
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = plain(d, at.Index(i, item))
		}
		return list
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			d.Fail(at, "the value cannot be read")
		}
		if i, ok := v.(int); ok {
			return int64(i)
		}
		return v
	}
	return n.Value
}

// Decode reads any mapping.
func (contentShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	d.Private(func() {
		if at.Node.Kind != yaml.MappingNode {
			d.Fail(at, "expected a mapping")
			return
		}
		out.Set(reflect.ValueOf(plain(d, at)).Convert(out.Type()))
	})
}

// Decode reads the name of a kind.
func (s kindShape) Decode(d *form.Decoder, at form.Place, out reflect.Value) {
	if at.Node.Kind != yaml.ScalarNode {
		d.Fail(at, "expected the name of a kind, such as Secret")
		return
	}
	kinds := kindsOf(d, s.kinds)
	if _, ok := kinds.lookup(at.Node.Value); !ok {
		d.FailNear(at, at.Node.Value, kinds.names(), "unknown kind %q; write a kind of Kubernetes, or version and kind such as example.com/v1/Widget", at.Node.Value)
		return
	}
	out.SetString(at.Node.Value)
}

// Schema describes a manifest loosely: its kinds have schemas of their own.
func (manifestsShape) Schema(*form.Generator) *jsonschema.Schema {
	manifest := &jsonschema.Schema{Type: "object", Required: []string{"apiVersion", "kind", "metadata"}}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{manifest, {Type: "array", Items: manifest}}}
}

// Schema describes any mapping.
func (contentShape) Schema(*form.Generator) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object"}
}

// Schema describes the name of a kind.
func (kindShape) Schema(*form.Generator) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^([a-z0-9.]+/)*[A-Z][A-Za-z0-9]*$`, Examples: []any{"Secret", "apps/v1/Deployment"}}
}

// describeObject is how reports name an object: secret kube-system/x.
func describeObject(kind string, namespace, name string) string {
	if slash := strings.LastIndexByte(kind, '/'); slash >= 0 {
		kind = kind[slash+1:]
	}
	if namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s %s", kind, name)
}
