package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// objectsValue gives CEL the objects of one run. Objects are read from the store
// as it is now, without latency, faults or caches: conditions judge the truth.
type objectsValue struct {
	kinds   *kinds
	server  *apiserver.Server
	adapter types.Adapter
	cache   map[objectKey]cachedObject
}

type objectKey struct{ kind, namespace, name string }

// cachedObject is an object in CEL's form. Stored objects never change, so the
// revision says whether it is still good.
type cachedObject struct {
	revision string
	value    ref.Val
}

func newObjects(kinds *kinds, server *apiserver.Server) *objectsValue {
	return &objectsValue{kinds: kinds, server: server, adapter: types.DefaultTypeAdapter, cache: map[objectKey]cachedObject{}}
}

// call carries out get, exists or list.
func (o *objectsValue) call(function string, args []string) ref.Val {
	kind, ok := o.kinds.lookup(args[0])
	if !ok {
		return types.NewErr("unknown kind %q", args[0])
	}
	if function == "list" {
		namespace := ""
		if len(args) > 1 {
			namespace = args[1]
		}
		return o.list(args[0], kind, namespace)
	}
	namespace, name := splitName(args[1])
	object, err := o.read(kind, namespace, name)
	switch {
	case function == "exists":
		return types.Bool(err == nil)
	case err != nil:
		return types.WrapErr(fmt.Errorf("%w: there is no %s", errAbsent, describeObject(args[0], namespace, name)))
	}
	return o.value(args[0], object)
}

func (o *objectsValue) read(kind objectKind, namespace, name string) (apiserver.Object, error) {
	resp, err := o.server.Do(&apiserver.Request{Verb: apiserver.Get, Resource: kind.GVR, Namespace: namespace, Name: name, Shared: true})
	if err != nil {
		return nil, err
	}
	return resp.Object, nil
}

func (o *objectsValue) list(kindText string, kind objectKind, namespace string) ref.Val {
	resp, err := o.server.Do(&apiserver.Request{Verb: apiserver.List, Resource: kind.GVR, Namespace: namespace, Shared: true})
	if err != nil {
		return o.adapter.NativeToValue([]ref.Val{})
	}
	items := slices.Clone(resp.Items)
	slices.SortFunc(items, func(a, b apiserver.Object) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	values := make([]ref.Val, len(items))
	for i, item := range items {
		values[i] = o.value(kindText, item)
	}
	return o.adapter.NativeToValue(values)
}

func (o *objectsValue) value(kind string, object apiserver.Object) ref.Val {
	key := objectKey{kind, object.GetNamespace(), object.GetName()}
	if c, ok := o.cache[key]; ok && c.revision == object.GetResourceVersion() {
		return c.value
	}
	var content map[string]any
	if u, ok := object.(*unstructured.Unstructured); ok {
		content = u.Object
	} else {
		var err error
		if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(object); err != nil {
			return types.WrapErr(err)
		}
	}
	value := o.adapter.NativeToValue(content)
	o.cache[key] = cachedObject{object.GetResourceVersion(), value}
	return value
}

// The rest makes objectsValue a value in CEL that can only be called.

// ConvertToNative implements ref.Val.
func (o *objectsValue) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("the objects of a cluster are not a %v", t)
}

// ConvertToType implements ref.Val.
func (o *objectsValue) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("the objects of a cluster are not a %s", t.TypeName())
}

// Equal implements ref.Val.
func (o *objectsValue) Equal(other ref.Val) ref.Val { return types.Bool(o == other) }

// Type implements ref.Val.
func (o *objectsValue) Type() ref.Type { return objectsType }

// Value implements ref.Val.
func (o *objectsValue) Value() any { return o }
