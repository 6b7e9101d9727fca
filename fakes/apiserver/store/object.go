package store

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is what the store keeps: anything with object metadata. It has the
// method set of controller-runtime's client.Object, so values pass freely
// between the two.
type Object interface {
	metav1.Object
	runtime.Object
}

// Mark is what a writer leaves beside a version of an object, to know more about
// it later. The store keeps it as long as the version and makes nothing of it.
// The zero Mark says nothing.
type Mark struct {
	By any
	At int64

	// Raw says that a real server would store other bytes if the object, as it is
	// read, was written once more: reading fills something in.
	Raw bool

	// Sealed is what stands in etcd instead of the object; nil if that is stored in
	// clear. It is never carried over to another version.
	Sealed *Sealed
}

// Sealed holds a value that stands for an object, and that only who has the key can
// read. The store makes nothing of it.
type Sealed struct{ Value any }

// version is one state of an object.
type version struct {
	obj  Object // nil: there was none
	mark Mark
}

// Key names an object within its table. Keys are ordered by namespace, then
// name, both by bytes.
type Key struct{ Namespace, Name string }

// Less reports whether k sorts before o.
func (k Key) Less(o Key) bool {
	if k.Namespace != o.Namespace {
		return k.Namespace < o.Namespace
	}
	return k.Name < o.Name
}

// String returns namespace/name, or the name alone.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Errors of the store. They are returned as they are.
var (
	ErrExists   = errors.New("the key exists")
	ErrNotFound = errors.New("the key was not found")
	ErrConflict = errors.New("the object was changed meanwhile")
	ErrExpired  = errors.New("the revision is no longer in the history")
)

// labelsOf returns obj's labels for matching, without copying them.
func labelsOf(obj Object) labels.Labels {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		meta, _ := u.Object["metadata"].(map[string]any)
		m, _ := meta["labels"].(map[string]any)
		return untypedLabels(m)
	}
	return labels.Set(obj.GetLabels())
}

// untypedLabels are labels as they stand in unstructured content.
type untypedLabels map[string]any

func (l untypedLabels) Has(key string) bool { _, ok := l[key]; return ok }
func (l untypedLabels) Get(key string) string {
	s, _ := l[key].(string)
	return s
}

func (l untypedLabels) Lookup(key string) (string, bool) {
	v, ok := l[key]
	s, _ := v.(string)
	return s, ok
}
