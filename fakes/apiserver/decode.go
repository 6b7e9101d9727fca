package apiserver

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

const (
	mediaYAML     = "application/yaml"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"

	// requestLimit is the size of the largest body that is read.
	requestLimit = 3145728

	// realScheme is what errors about unknown kinds call a real server's scheme.
	realScheme = "pkg/runtime/scheme.go:111"
)

// body returns the object in the request, in the stored version, defaulted, and
// the caller's no more.
func (c *call) body() (Object, error) {
	obj, err := c.sent()
	if err != nil {
		return nil, err
	}
	if v := c.ep.Version; v != nil {
		obj = v.To(obj)
	}
	c.settle(obj)
	return obj, nil
}

// Snapshot makes req independent of its caller, for a request that is on its way
// while the caller goes on: its Object becomes a copy, and Owned. What is the same
// as in the stored object is shared with that, as long as nobody minds.
func (st *Store) Snapshot(req *Request) {
	obj := req.Object
	if ep, ok := st.endpoint(req.Resource); ok && req.Verb == Update && ep.Schema == nil { // a schema may change meanwhile
		key := store.Key{Name: req.Name}
		if !ep.Cluster {
			key.Namespace = req.Namespace
		}
		req.Object = st.derive(ep, key, obj)
		req.derived = req.Object != nil
	}
	if !req.derived {
		req.Object = obj.DeepCopyObject().(Object)
	}
	req.Owned = true
}

// derive copies of obj what differs from the object stored at key, and shares
// the rest with it. It returns nil where that cannot be.
func (st *Store) derive(ep *endpoint, key store.Key, obj Object) Object {
	if !st.sharing(ep) || ep.Prototype != nil && reflect.TypeOf(obj) != reflect.TypeOf(ep.Prototype) {
		return nil
	}
	if _, loose := obj.(*unstructured.Unstructured); ep.Prototype == nil && !loose {
		return nil
	}
	base, ok := ep.table.Get(key)
	if !ok || ep.Schema != nil && !ep.settled(base) {
		return nil
	}
	return ep.Shape().Derive(obj, base).(Object)
}

// derived is body for an update. Where it can, it copies only what differs from
// the stored object and shares the rest with it.
func (c *call) derived() (Object, error) {
	if c.req.Object == nil || c.req.Owned {
		return c.body()
	}
	obj := c.store.derive(c.ep, c.key(), c.req.Object)
	if obj == nil {
		return c.body()
	}
	if err := c.checkKind(obj.GetObjectKind().GroupVersionKind(), obj.GetName()); err != nil {
		return nil, err
	}
	if c.ep.Prototype == nil {
		c.nameKind(obj)
	}
	if err := c.coerceSent(obj); err != nil {
		return nil, err
	}
	c.settle(obj)
	return obj, nil
}

// nameKind gives an unstructured object its kind. One that says that it is another
// kind keeps it where validation speaks of that.
func (c *call) nameKind(obj Object) {
	if kind := obj.GetObjectKind(); c.ep.Schema == nil || kind.GroupVersionKind().Empty() {
		kind.SetGroupVersionKind(c.ep.Served)
	}
}

// sharing reports whether versions of an object may share memory: not if code
// that is not ours may write to a new version.
func (st *Store) sharing(ep *endpoint) bool {
	return ep.Pure && ep.Version == nil && st.hooks.Empty() && (ep.Schema == nil || ep.Schema.Settled())
}

// settle does what decoding does beside reading: drop kind and apiVersion, which
// are not stored with objects of Go types, and fill in defaults.
func (c *call) settle(obj Object) {
	if c.ep.Typed() {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	if c.ep.Default != nil {
		c.ep.Default(obj)
	}
	if c.ep.Schema != nil {
		c.ep.Schema.Default(obj)
	}
	c.takeFields(obj)
	dropEmptyMetadata(obj)
}

// sent returns the object in the request as its version has it.
func (c *call) sent() (Object, error) {
	obj := c.req.Object
	if obj == nil {
		if len(c.req.Body) > requestLimit {
			return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", requestLimit))
		}
		return c.decode(c.req.Body, c.req.ContentType)
	}
	prototype := c.prototype()
	_, loose := obj.(*unstructured.Unstructured)
	switch {
	case prototype != nil && reflect.TypeOf(obj) == reflect.TypeOf(prototype), prototype == nil && loose:
		if err := c.checkKind(obj.GetObjectKind().GroupVersionKind(), obj.GetName()); err != nil {
			return nil, err
		}
		if !c.req.Owned || c.req.derived && !c.store.sharing(c.ep) {
			obj = obj.DeepCopyObject().(Object)
		}
		if loose {
			c.nameKind(obj)
		}
		return obj, c.coerceSent(obj)
	case prototype == nil: // a Go type for a kind that has none here
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("convert %T: %v", obj, err))
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(c.ep.Served)
		return u, c.coerceSent(u)
	case loose:
		data, err := json.Marshal(obj.(*unstructured.Unstructured).Object)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("encode: %v", err))
		}
		return c.decode(data, "")
	default:
		kind := reflect.TypeOf(obj).Elem().Name()
		return nil, c.errDecode(&schema.GroupVersionKind{Version: c.ep.Served.Version, Kind: kind},
			fmt.Errorf("converting (%T) to (%T): unknown conversion", obj, prototype), nil)
	}
}

// prototype returns an object of the Go type that requests carry, or nil.
func (c *call) prototype() Object {
	if v := c.ep.Version; v != nil {
		return v.Prototype
	}
	return c.ep.Prototype
}

// checkKind refuses an object that says that it is something else.
func (c *call) checkKind(gvk schema.GroupVersionKind, name string) error {
	if gvk.Empty() || gvk == c.ep.Served {
		return nil
	}
	served := c.ep.Served
	switch {
	case c.ep.Custom:
		if gvk.GroupVersion() != served.GroupVersion() {
			return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", gvk.GroupVersion(), served.GroupVersion()))
		}
		if c.ep.Schema != nil {
			return nil // validation says it, beside what else is wrong
		}
		return c.errKind(gvk, name)
	case !c.store.opts.Scheme.Recognizes(gvk):
		return c.errDecode(&gvk, fmt.Errorf("no kind %q is registered for version %q in scheme %q", gvk.Kind, gvk.GroupVersion(), realScheme), nil)
	default:
		return c.errDecode(&gvk, fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", gvk.Version, gvk.Kind, internalGroup(served.Group), served.Kind), nil)
	}
}

// internalGroup is the Go package of a group's internal types.
func internalGroup(group string) string {
	if group == "" {
		return "core"
	}
	name, _, _ := strings.Cut(group, ".")
	return name
}

// errDecode words a body that cannot be read.
func (c *call) errDecode(gvk *schema.GroupVersionKind, err error, data []byte) error {
	if gvk != nil && gvk.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, c.ep.Served.Kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", c.ep.Served.Kind, err, summary(data)))
}

// summary shows the beginning of a body.
func summary(data []byte) string {
	const most = 30
	switch {
	case len(data) == 0:
		return "<empty>"
	case data[0] == '{' && len(data) > most:
		return string(data[:most]) + " ..."
	case data[0] == '{':
		return string(data)
	case len(data) > most:
		return hex.EncodeToString(data[:most]) + " ..."
	default:
		return hex.EncodeToString(data)
	}
}

// decode reads a body, minding how strict the request wants it.
func (c *call) decode(data []byte, contentType string) (Object, error) {
	obj, gvk, err := c.parse(data, contentType)
	var complaints []error
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		complaints, err = strict.Errors(), nil
	}
	if err == nil {
		if !c.ep.Custom {
			if err := c.checkKind(*gvk, c.nameIn(obj)); err != nil {
				return nil, err
			}
		}
		var unknown []error
		if unknown, err = c.coerce(obj); err == nil {
			err = c.heed(append(complaints, unknown...))
		}
		switch {
		case err != nil && c.ep.Custom:
			return nil, errNotThe(*gvk, *gvk, err.Error())
		case err != nil:
			return nil, c.errDecode(gvk, err, data)
		}
		return obj, c.checkKind(*gvk, c.nameIn(obj))
	}
	if gvk != nil && !c.ep.Custom && (runtime.IsNotRegisteredError(err) || runtime.IsStrictDecodingError(err)) {
		return nil, c.checkKind(*gvk, c.req.Name)
	}
	return nil, c.errDecode(gvk, err, data)
}

// directive says what to do about unknown and duplicate fields.
func (c *call) directive() string {
	if c.req.FieldValidation == "" {
		return metav1.FieldValidationWarn
	}
	return c.req.FieldValidation
}

// decoder reads bodies of a type.
func (c *call) decoder(contentType string) runtime.Decoder {
	scheme := c.store.opts.Scheme
	if contentType == mediaProtobuf {
		return protobuf.NewSerializer(scheme, scheme)
	}
	options := jsonserializer.SerializerOptions{Yaml: contentType == mediaYAML, Strict: c.directive() != metav1.FieldValidationIgnore}
	return jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, options)
}

// parse reads a body into an object of the requested version. A strict error
// comes with the object.
func (c *call) parse(data []byte, contentType string) (Object, *schema.GroupVersionKind, error) {
	if contentType == mediaProtobuf {
		return c.parseProtobuf(data)
	}
	s := c.decoder(contentType)
	if c.prototype() == nil {
		u := &unstructured.Unstructured{}
		_, gvk, err := s.Decode(data, &c.ep.Served, u)
		if u.Object == nil {
			return nil, gvk, err
		}
		return u, gvk, err
	}
	into := reflect.New(reflect.TypeOf(c.prototype()).Elem()).Interface().(runtime.Object)
	obj, gvk, err := s.Decode(data, &c.ep.Served, into)
	if obj == nil || gvk != nil && *gvk != c.ep.Served {
		return nil, gvk, err
	}
	return obj.(Object), gvk, err
}

// New returns an empty object of the kind that requests to a resource carry, or
// nil if the resource is not served.
func (st *Store) New(gvr schema.GroupVersionResource) Object {
	e, ok := st.kinds.Lookup(gvr)
	if !ok {
		return nil
	}
	return newObject(e)
}

func newObject(e *registry.Entry) Object {
	if e.Version != nil {
		return reflect.New(reflect.TypeOf(e.Version.Prototype).Elem()).Interface().(Object)
	}
	return e.Kind.New()
}
