package provingground

import (
	"embed"
	"io/fs"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupVersion of the custom resource that the operators of this package manage.
var groupVersion = schema.GroupVersion{Group: "provingground.seedbed.dev", Version: "v1"}

//go:embed crds/*.yaml
var crds embed.FS

// definitions are the CustomResourceDefinitions of the package.
func definitions() fs.FS {
	sub, err := fs.Sub(crds, "crds")
	if err != nil {
		panic(err) // the name is a valid path
	}
	return sub
}

func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(groupVersion, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(s, groupVersion)
	return nil
}

// Database stands for the custom resources of all the operators: what they differ in
// besides plays no part in their bugs.
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   DatabaseSpec   `json:"spec"`
	Status DatabaseStatus `json:"status"`
}

// DatabaseSpec is what the user wants.
type DatabaseSpec struct {
	Replicas int      `json:"replicas,omitempty"` // members
	Storage  int      `json:"storage,omitempty"`  // of each member, in GiB
	Config   string   `json:"config,omitempty"`
	Features []string `json:"features,omitempty"` // parts that may be switched on
}

// DatabaseStatus is what an operator remembers.
type DatabaseStatus struct {
	Replicas  int      `json:"replicas,omitempty"`
	Phase     string   `json:"phase,omitempty"`
	Config    string   `json:"config,omitempty"`
	Succeeded int      `json:"succeeded,omitempty"` // Pods
	Pending   []string `json:"pending,omitempty"`   // UIDs of Pods
}

// DatabaseList is a list of them.
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Database `json:"items"`
}

// has reports whether a feature is switched on.
func (d *Database) has(feature string) bool { return slices.Contains(d.Spec.Features, feature) }

// DeepCopyObject implements runtime.Object.
func (d *Database) DeepCopyObject() runtime.Object {
	out := d.copy()
	return &out
}

func (d *Database) copy() Database {
	out := *d
	d.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Features = slices.Clone(d.Spec.Features)
	out.Status.Pending = slices.Clone(d.Status.Pending)
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *DatabaseList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Database, len(l.Items))
	for i := range l.Items {
		out.Items[i] = l.Items[i].copy()
	}
	return &out
}
