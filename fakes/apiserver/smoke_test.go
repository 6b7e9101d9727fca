package apiserver

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestSmoke(t *testing.T) {
	s := New(Options{Guard: true})
	cms := corev1.SchemeGroupVersion.WithResource("configmaps")
	r, err := s.Do(&Request{Verb: Create, Resource: cms, Namespace: "default", Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r.Object)
	w, err := s.Watch(&Request{Resource: cms, Namespace: "default", AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err = s.Do(&Request{Verb: Patch, Resource: cms, Namespace: "default", Name: "a", PatchType: types.MergePatchType, Body: []byte(`{"data":{"k":"w"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	r, err = s.Do(&Request{Verb: Delete, Resource: cms, Namespace: "default", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r.Status)
	for {
		e, ok := w.Next()
		if !ok {
			break
		}
		t.Logf("%s %+v", e.Type, e.Object)
	}
	_, err = s.Do(&Request{Verb: Get, Resource: cms, Namespace: "default", Name: "a"})
	t.Log(err)
}
