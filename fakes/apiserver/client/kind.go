package client

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// typeCache remembers which kind the Go types of one scheme stand for. It is
// shared by all clients with that scheme.
type typeCache struct {
	kinds sync.Map // reflect.Type → schema.GroupVersionKind
}

// caches holds one typeCache per living scheme. Schemes are known by weak
// pointers, so that a test that makes one each time does not collect them here.
var caches sync.Map // weak.Pointer[kruntime.Scheme] → *typeCache

func typesOf(scheme *kruntime.Scheme) *typeCache {
	key := weak.Make(scheme)
	if known, ok := caches.Load(key); ok {
		return known.(*typeCache)
	}
	made, loaded := caches.LoadOrStore(key, &typeCache{})
	if !loaded {
		runtime.AddCleanup(scheme, func(key weak.Pointer[kruntime.Scheme]) { caches.Delete(key) }, key)
	}
	return made.(*typeCache)
}

// kindOf is the kind of an object, or of a list as it stands ("PodList").
// Objects that name their kind themselves are not asked for in the scheme.
func (t *typeCache) kindOf(obj kruntime.Object, scheme *kruntime.Scheme) (schema.GroupVersionKind, error) {
	if namesItself(obj) {
		return apiutil.GVKForObject(obj, scheme)
	}
	goType := reflect.TypeOf(obj)
	if known, ok := t.kinds.Load(goType); ok {
		return known.(schema.GroupVersionKind), nil
	}
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return gvk, err
	}
	t.kinds.Store(goType, gvk)
	return gvk, nil
}

func namesItself(obj kruntime.Object) bool {
	switch obj.(type) {
	case kruntime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return true
	}
	return false
}

// Kinds says what is served. *apiserver.Store does.
type Kinds interface {
	LookupKind(gvk schema.GroupVersionKind) (*apiserver.Resource, bool)
	Resources() []apiserver.Resource
}

// kinds finds resources for the objects of one client. What it found is
// remembered: kinds can come, but do not go or change, unless a
// CustomResourceDefinition defines them. Those are looked at each time.
type kinds struct {
	types  *typeCache
	served Kinds
	found  sync.Map // schema.GroupVersionKind → *apiserver.Resource, reflect.Type → *hit
	latest atomic.Pointer[hit]
}

// hit is the last answer for a Go type: clients mostly ask for one kind many
// times.
type hit struct {
	goType reflect.Type
	res    *apiserver.Resource
}

// kind finds what the server serves for an object or a list of objects.
func (c *Client) kind(obj kruntime.Object) (*apiserver.Resource, error) {
	goType := reflect.TypeOf(obj)
	if h := c.kinds.latest.Load(); h != nil && h.goType == goType {
		return h.res, nil
	}
	if known, ok := c.kinds.found.Load(goType); ok {
		h := known.(*hit)
		c.kinds.latest.Store(h)
		return h.res, nil
	}
	gvk, err := c.kinds.types.kindOf(obj, c.scheme)
	if err != nil {
		return nil, err
	}
	if meta.IsListType(obj) {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	res, err := c.served(gvk)
	if err == nil && !res.Defined && !namesItself(obj) {
		c.kinds.found.Store(goType, &hit{goType, res})
	}
	return res, err
}

// served finds a kind on the server. The error is the one that a real client
// gets from discovery: see meta.IsNoMatchError. A kind that has been there and has
// gone is still known, as to a real client, and the server refuses the request.
func (c *Client) served(gvk schema.GroupVersionKind) (*apiserver.Resource, error) {
	var before *apiserver.Resource
	if known, ok := c.kinds.found.Load(gvk); ok {
		if before = known.(*apiserver.Resource); !before.Defined {
			return before, nil
		}
	}
	res, ok := c.kinds.served.LookupKind(gvk)
	switch {
	case ok:
		if res != before {
			c.kinds.found.Store(gvk, res)
		}
		return res, nil
	case before != nil:
		return before, nil
	}
	return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}
