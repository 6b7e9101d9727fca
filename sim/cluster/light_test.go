package cluster_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Light is a small custom resource.
type Light struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Want              int `json:"want"`
	Done              int `json:"done"`
}

// DeepCopyObject implements runtime.Object.
func (l *Light) DeepCopyObject() runtime.Object {
	out := *l
	l.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// LightList is a list of Lights.
type LightList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Light `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *LightList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Light, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Light)
	}
	return &out
}

var lightGVK = schema.GroupVersionKind{Group: "seedbed.dev", Version: "v1", Kind: "Light"}

// lightScheme knows Lights and nothing else.
var lightScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(lightGVK.GroupVersion(), &Light{}, &LightList{})
	metav1.AddToGroupVersion(s, lightGVK.GroupVersion())
	return s
}()
