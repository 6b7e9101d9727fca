package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// apply serves a server-side apply: a patch whose body is what one manager wants
// the object to be. A missing object is created.
func (c *call) apply(t *target) (*Response, error) {
	for {
		warned := len(c.warnings)
		c.own = ownership{}
		old, ok, err := c.loadToWrite(c.key())
		if err != nil {
			return nil, err
		}
		if !ok && !t.creates {
			return nil, c.errNotFound()
		}
		obj, err := c.merged(old)
		if err != nil {
			return nil, err
		}
		r, err := c.putApplied(t, obj, old)
		if !errors.Is(err, store.ErrConflict) {
			return r, err
		}
		c.warnings = c.warnings[:warned] // another write came between: once more, on what is there now
	}
}

// merged returns the configuration in the request merged into old, which is nil
// if there is none, and works out the owners afterwards.
func (c *call) merged(old Object) (Object, error) {
	config, err := c.configuration()
	if err != nil {
		return nil, err
	}
	target := c.target().(*fieldTarget)
	u, owners, err := target.manager().Apply(c.owners(old), target.shown(old), config, c.req.FieldManager, c.forced(), c.now())
	if err != nil {
		return nil, err
	}
	if err := c.checkDuplicates(); err != nil {
		return nil, err
	}
	c.own.owners, c.own.known = owners, true
	if u == nil {
		return c.unmerged(old), nil
	}
	obj, err := c.ep.stored(u, c.ep.Version)
	if err != nil {
		gvk := config.GroupVersionKind()
		return nil, fmt.Errorf("failed to convert new object (%s/%s; %v) to proper version: unable to convert unstructured object to %v: %w",
			config.GetNamespace(), config.GetName(), gvk, gvk, err)
	}
	c.uncoerced = c.ep.Schema != nil
	c.raw = dropEmptyMetadata(obj) // which is stored, though nobody reads it
	c.settle(obj)
	if old != nil && c.store.sharing(c.ep) {
		c.ep.Shape().Adopt(obj, old)
	}
	return obj, nil
}

// unmerged is what an apply that changes nothing makes of old.
func (c *call) unmerged(old Object) Object {
	switch {
	case old == nil:
		return c.ep.Kind.New()
	case c.store.sharing(c.ep):
		return shape.ShallowCopy(old).(Object)
	default:
		return old.DeepCopyObject().(Object)
	}
}

func (c *call) forced() bool { return c.req.Force != nil && *c.req.Force }

// configuration reads the body of an apply.
func (c *call) configuration() (*unstructured.Unstructured, error) {
	content, ok := plainJSON(c.req.Body)
	if c.unique = ok; ok {
		return &unstructured.Unstructured{Object: content}, nil
	}
	config := &unstructured.Unstructured{Object: map[string]any{}}
	if err := utilyaml.Unmarshal(c.req.Body, &config.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if config.Object == nil {
		config.Object = map[string]any{}
	}
	return config, nil
}

// plainJSON reads a body that means the same as JSON and as YAML, and has no key twice:
// most have, and YAML takes ten times as long.
func plainJSON(body []byte) (content map[string]any, ok bool) {
	for _, b := range body {
		if b < ' ' && b != '\n' || b >= 0x7f {
			return nil, false // YAML knows characters that do not print
		}
	}
	if len(body) == 0 || body[0] != '{' || bytes.Contains(body, []byte(`\u`)) {
		return nil, false
	}
	twice, err := kjson.UnmarshalStrict(body, &content)
	return content, err == nil && len(twice) == 0 && !hasFloats(content)
}

// hasFloats reports whether a value has a number that is no integer somewhere: 1.0 is
// one in YAML.
func hasFloats(value any) bool {
	switch value := value.(type) {
	case float64:
		return true
	case []any:
		return slices.ContainsFunc(value, hasFloats)
	case map[string]any:
		for _, v := range value {
			if hasFloats(v) {
				return true
			}
		}
	}
	return false
}

// checkDuplicates complains about keys that the body has twice.
func (c *call) checkDuplicates() error {
	if c.unique || !c.strict() {
		return nil
	}
	err := yaml.UnmarshalStrict(c.req.Body, &map[string]any{})
	switch {
	case err == nil:
		return nil
	case c.directive() == metav1.FieldValidationStrict:
		return apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
	}
	c.warnOf(err)
	return nil
}

// putApplied stores obj, the result of an apply, in place of old.
func (c *call) putApplied(t *target, obj, old Object) (*Response, error) {
	if old == nil && obj.GetUID() != "" {
		return nil, apierrors.NewConflict(c.ep.gr, c.req.Name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", obj.GetUID()))
	}
	if old != nil {
		return c.putPatched(t, obj, old)
	}
	if err := c.checkNames(obj); err != nil {
		return nil, err
	}
	c.creating = true
	version := obj.GetResourceVersion()
	wipe(obj)
	obj.SetResourceVersion("")
	if err := c.admit(obj, nil); err != nil {
		return nil, err
	}
	if _, err := parseVersion(version); err != nil {
		return nil, err
	}
	c.dedupOwners(obj, afterAdmission)
	r, err := c.insert(obj)
	if apierrors.IsAlreadyExists(err) && !c.dryRun {
		return nil, store.ErrConflict
	}
	return r, err
}

// mayCreate asks for the permission to create that a request needs which says
// something else but creates.
func (c *call) mayCreate() error {
	if !c.creating || c.req.User == nil || c.store.opts.Authorizer == nil {
		return nil
	}
	a := &authz.Attributes{
		User: c.req.User, Verb: string(Create), Group: c.req.Resource.Group, Resource: c.req.Resource.Resource,
		Namespace: c.ns, Name: c.req.Name,
	}
	if ok, reason := c.store.opts.Authorizer.Authorize(a); !ok {
		return authz.Forbidden(a, reason)
	}
	return nil
}

// applyScale serves an apply to the subresource scale.
func (c *call) applyScale() (*Response, error) {
	for {
		c.own = ownership{}
		old, ok, err := c.loadToWrite(c.key())
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, c.errNotFound()
		}
		config, err := c.configuration()
		if err != nil {
			return nil, err
		}
		if gvk := config.GroupVersionKind(); c.ep.Custom && gvk != scaleKind {
			return nil, apierrors.NewBadRequest("invalid object type: " + gvk.String())
		}
		replicas, owners, err := c.ep.scale.scaler().Apply(c.owners(old), old, config, c.req.FieldManager, c.forced(), c.now())
		if err != nil {
			return nil, err
		}
		if err := c.checkDuplicates(); err != nil {
			return nil, err
		}
		if err := c.checkNames(config); err != nil {
			return nil, err
		}
		c.own.owners, c.own.known = owners, true
		scale := c.scaleOf(old)
		scale.Spec.Replicas = replicas
		if v := config.GetResourceVersion(); v != "" {
			scale.ResourceVersion = v
		}
		if uid := config.GetUID(); uid != "" {
			scale.UID = uid
		}
		if err := c.admitScale(scale, old); err != nil {
			return nil, err
		}
		r, err := c.putScale(scale, old)
		if !errors.Is(err, store.ErrConflict) {
			return r, err
		}
	}
}

var _ apply.Target = (*fieldTarget)(nil)
