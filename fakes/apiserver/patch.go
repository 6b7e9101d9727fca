package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/patch"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

func (c *call) patch(t *target) (*Response, error) {
	if err := c.checkPatch(); err != nil {
		return nil, err
	}
	if c.req.PatchType == types.ApplyYAMLPatchType {
		return c.apply(t)
	}
	for {
		old, ok, err := c.loadToWrite(c.key())
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, c.errNotFound()
		}
		warned := len(c.warnings)
		c.own.given, c.own.known = false, false
		obj, err := c.patched(old)
		if err != nil {
			return nil, err
		}
		r, err := c.putPatched(t, obj, old)
		if !errors.Is(err, store.ErrConflict) {
			return r, err
		}
		c.warnings = c.warnings[:warned] // another write came between: once more, on what is there now
	}
}

// putPatched puts obj, made of old by a patch, in its place.
func (c *call) putPatched(t *target, obj, old Object) (*Response, error) {
	if err := c.checkNames(obj); err != nil {
		return nil, err
	}
	c.beginWrite(obj, old)
	if err := c.admit(obj, old); err != nil {
		return nil, err
	}
	c.dedupOwners(obj, afterAdmission)
	return c.commit(t, obj, old)
}

func (c *call) checkPatch() error {
	if len(c.req.Body) > requestLimit {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", requestLimit))
	}
	if err := patch.CheckType(c.req.PatchType, c.ep.Custom); err != nil {
		return err
	}
	if err := c.checkWriteOptions("PatchOptions"); err != nil {
		return err
	}
	return patch.CheckBody(c.req.PatchType, c.req.Body)
}

// patched returns a new object: old with the patch applied, in the stored
// version, defaulted.
func (c *call) patched(old Object) (Object, error) {
	if obj, ok := c.patchedQuickly(old); ok && c.settlePatched(obj) == nil {
		return obj, nil
	}
	current := old
	if c.patchesFields() {
		current = withFields(old, c.owners(old))
	}
	warned := len(c.warnings)
	obj, err := c.patchedInFull(current)
	if err != nil && current == old && c.req.ManagedFields {
		// The error may show what became of the object: all that its reader sees of it.
		c.warnings = c.warnings[:warned]
		_, err = c.patchedInFull(withFields(old, c.owners(old)))
	}
	if err != nil {
		return nil, err
	}
	if c.ep.Custom && obj.GetObjectKind().GroupVersionKind() != c.ep.Served {
		c.own.owners, c.own.known = c.owners(old), true // nobody can tell what belongs to whom in another kind
	}
	if v := c.ep.Version; v != nil {
		obj = v.To(obj)
	}
	c.settle(obj)
	if c.store.sharing(c.ep) {
		c.ep.Shape().Adopt(obj, old)
	}
	return obj, nil
}

// patchedInFull returns current with the patch applied, in the version of the request.
func (c *call) patchedInFull(current Object) (Object, error) {
	if v := c.ep.Version; v != nil {
		current = v.From(current)
	}
	if c.req.PatchType == types.StrategicMergePatchType {
		return c.patchContent(current)
	}
	return c.patchDocument(current)
}

// settlePatched settles what patchedQuickly has made.
func (c *call) settlePatched(obj Object) error {
	unknown, err := c.coerce(obj)
	if err != nil {
		return err
	}
	for _, e := range unknown {
		c.warn(e.Error())
	}
	c.settle(obj)
	return nil
}

// patchesFields reports whether the patch may look at or change managed fields.
func (c *call) patchesFields() bool { return bytes.Contains(c.req.Body, []byte("managedFields")) }

// patchedQuickly applies a merge patch without a detour through JSON, if there is
// nothing unusual about it. The new object shares with old what did not change.
func (c *call) patchedQuickly(old Object) (Object, bool) {
	if c.req.PatchType != types.MergePatchType || !c.store.sharing(c.ep) || c.patchesFields() ||
		c.ep.Schema != nil && c.directive() == metav1.FieldValidationStrict {
		return nil, false
	}
	sent, ok := patch.Parse(c.req.Body)
	if !ok {
		return nil, false
	}
	if u, untyped := old.(*unstructured.Unstructured); untyped {
		obj := &unstructured.Unstructured{Object: patch.MergeContent(u.Object, sent)}
		if _, isMap := obj.Object["metadata"].(map[string]any); !isMap || obj.GroupVersionKind() != c.ep.Served {
			return nil, false
		}
		return shape.ShallowCopy(obj).(Object), true
	}
	obj := shape.ShallowCopy(old).(Object)
	return obj, patch.MergeTyped(obj, sent)
}

// strict reports whether unknown fields matter to the request.
func (c *call) strict() bool { return c.directive() != metav1.FieldValidationIgnore }

// patchDocument applies a JSON or merge patch to the JSON of current.
func (c *call) patchDocument(current Object) (Object, error) {
	doc, err := json.Marshal(c.named(current))
	if err != nil {
		return nil, err
	}
	apply := patch.Merge
	if c.req.PatchType == types.JSONPatchType {
		apply = patch.JSON
	}
	doc, complaints, err := apply(doc, c.req.Body, c.strict())
	if err != nil {
		return nil, err
	}
	switch version, kind := identityOf(doc); {
	case version != "" && (kind != "" || c.ep.Typed()):
	case c.ep.Typed():
		// Of no version nothing is read; what comes of it has no name.
		return newObject(c.ep.Entry), c.complain(append(complaints, unread(doc)...), string(doc))
	case version == "" && kind != "":
		return nil, apierrors.NewInternalError(errors.New("Object 'apiVersion' is missing in 'object has no apiVersion field'"))
	}
	obj, gvk, err := c.parse(doc, "")
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, errPatched(string(doc), c.realText(gvk, err))
		}
		complaints = append(complaints, strict.Errors()...)
	}
	unknown, err := c.coerce(obj)
	if err != nil {
		return nil, errPatched(string(doc), err.Error())
	}
	complaints = append(complaints, unknown...)
	if err := c.complain(complaints, string(doc)); err != nil {
		return nil, err
	}
	switch {
	case gvk == nil || *gvk == c.ep.Served:
	case c.ep.Custom && (c.req.Subresource == "status" || c.ep.Schema != nil): // validation says it, unless the status alone is taken
	default:
		if err := c.checkKind(*gvk, c.req.Name); err != nil {
			return nil, errPatched(string(doc), c.realText(gvk, err))
		}
	}
	return obj, nil
}

// identityOf is what a document says of its version and kind, if these are texts.
func identityOf(doc []byte) (version, kind string) {
	var meta struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	if err := json.Unmarshal(doc, &meta); err != nil {
		return "v", "k" // the whole is no better, and says so
	}
	text := func(v any) string {
		if v == nil {
			return ""
		}
		return fmt.Sprint(v)
	}
	return text(meta.APIVersion), text(meta.Kind)
}

// unread complains about every member of a document of which nothing is known.
func unread(doc []byte) []error {
	members := map[string]any{}
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil // it has been read before
	}
	var out []error
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "apiVersion" && name != "kind" {
			out = append(out, fmt.Errorf("unknown field %q", name))
		}
	}
	return out
}

// named returns an object with kind and apiVersion, for encoding.
func (c *call) named(obj Object) Object {
	if !c.ep.Typed() {
		return obj
	}
	obj = shape.ShallowCopy(obj).(Object)
	obj.GetObjectKind().SetGroupVersionKind(c.ep.Served)
	return obj
}

// realText is the text of a decoding error, with the name that a real server
// gives its scheme.
func (c *call) realText(gvk *schema.GroupVersionKind, err error) string {
	if gvk != nil && runtime.IsNotRegisteredError(err) {
		return fmt.Sprintf("no kind %q is registered for version %q in scheme %q", gvk.Kind, gvk.GroupVersion(), realScheme)
	}
	return err.Error()
}

// patchContent applies a strategic merge patch to the content of current.
func (c *call) patchContent(current Object) (Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.named(current))
	if err != nil {
		return nil, err
	}
	out, sent, complaints, err := patch.Strategic(content, c.req.Body, c.prototype(), c.strict())
	if err != nil {
		return nil, err
	}
	obj := reflect.New(reflect.TypeOf(c.prototype()).Elem()).Interface().(Object)
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(out, obj, c.strict())
	text := fmt.Sprintf("%+v", sent)
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return nil, errPatched(text, err.Error())
		}
		complaints = append(complaints, strict.Errors()...)
	}
	if err := c.complain(complaints, text); err != nil {
		return nil, err
	}
	return obj, nil
}

// complain turns what a strict reading found into warnings or an error, unless nobody
// wants to know.
func (c *call) complain(complaints []error, patched string) error {
	if len(complaints) == 0 || !c.strict() {
		return nil
	}
	if c.directive() != metav1.FieldValidationWarn {
		return errPatched(patched, runtime.NewStrictDecodingError(complaints).Error())
	}
	for _, e := range complaints {
		c.warnOf(e)
	}
	return nil
}

// warnOf warns of what a strict reading found. What was found in YAML comes as one text.
func (c *call) warnOf(found error) {
	text, isYAML := strings.CutPrefix(strings.TrimPrefix(found.Error(), "error converting YAML to JSON: "), "yaml: unmarshal errors:\n")
	if !isYAML {
		c.warn(found.Error())
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		c.warn(strings.TrimSpace(line))
	}
}

// errPatched is the answer to a patch whose result is no object of the kind.
func errPatched(patched, why string) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patched, why)})
}
