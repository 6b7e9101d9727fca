package apiserver_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func Example() {
	server := apiserver.New(apiserver.Options{})
	gvr := corev1.SchemeGroupVersion.WithResource("configmaps")

	// A watch is opened before anything happens.
	watch, err := server.Watch(&apiserver.Request{Resource: gvr, Namespace: "default"})
	if err != nil {
		fmt.Println(err)
		return
	}

	created, err := server.Do(&apiserver.Request{Verb: apiserver.Create, Resource: gvr, Namespace: "default", Object: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings", Finalizers: []string{"example.com/cleanup"}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("created", created.Object.GetName(), "at", created.Object.GetResourceVersion())

	// Somebody else changes it.
	_, _ = server.Do(&apiserver.Request{
		Verb: apiserver.Patch, Resource: gvr, Namespace: "default", Name: "settings",
		PatchType: types.MergePatchType, Body: []byte(`{"data":{"color":"red"}}`),
	})

	// So what we hold is stale.
	_, err = server.Do(&apiserver.Request{Verb: apiserver.Update, Resource: gvr, Namespace: "default", Name: "settings", Object: created.Object})
	fmt.Println("stale write is a conflict:", apierrors.IsConflict(err))

	// The finalizer holds it until it is taken off.
	_, _ = server.Do(&apiserver.Request{Verb: apiserver.Delete, Resource: gvr, Namespace: "default", Name: "settings"})
	_, _ = server.Do(&apiserver.Request{
		Verb: apiserver.Patch, Resource: gvr, Namespace: "default", Name: "settings",
		PatchType: types.MergePatchType, Body: []byte(`{"metadata":{"finalizers":null}}`),
	})
	for e, ok := watch.Next(); ok; e, ok = watch.Next() {
		fmt.Println(e.Type, e.Object.GetResourceVersion(), "deleting:", e.Object.GetDeletionTimestamp() != nil)
	}
	// Output:
	// created settings at 5
	// stale write is a conflict: true
	// ADDED 5 deleting: false
	// MODIFIED 6 deleting: false
	// MODIFIED 7 deleting: true
	// DELETED 8 deleting: true
}
