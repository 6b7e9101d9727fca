package client_test

import (
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fake "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

// TestDefinedKindsComeAndGo: a client does not go by what a definition said once.
func TestDefinedKindsComeAndGo(t *testing.T) {
	server := apiserver.New(apiserver.Options{})
	c := fake.New(server, scheme.Scheme)
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	define := func(scope apiextensions.ResourceScope) {
		t.Helper()
		d := &apiextensions.CustomResourceDefinition{}
		d.Name = "things.example.com"
		d.Spec = apiextensions.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: scope, Names: apiextensions.CustomResourceDefinitionNames{Plural: "things", Kind: kind.Kind},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object"}},
			}},
		}
		must(t, server.Define(d))
	}
	thing := func(namespace string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		u.SetNamespace(namespace)
		u.SetName("a")
		return u
	}
	define(apiextensions.NamespaceScoped)
	must(t, c.Create(ctx, thing("default")))
	if namespaced, err := c.IsObjectNamespaced(thing("")); err != nil || !namespaced {
		t.Errorf("namespaced: %v, %v", namespaced, err)
	}
	_, err := server.Do(&apiserver.Request{
		Verb: apiserver.Delete, Resource: apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions"), Name: "things.example.com",
	})
	must(t, err)
	gone := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, thing(""))
	if !apierrors.IsNotFound(gone) || gone.Error() != "the server could not find the requested resource" {
		t.Errorf("after its definition has gone: %v", gone)
	}
	define(apiextensions.ClusterScoped)
	if namespaced, err := c.IsObjectNamespaced(thing("")); err != nil || namespaced {
		t.Errorf("namespaced: %v, %v", namespaced, err)
	}
	must(t, c.Create(ctx, thing("")))
	must(t, c.Get(ctx, client.ObjectKey{Name: "a"}, thing("")))
}
