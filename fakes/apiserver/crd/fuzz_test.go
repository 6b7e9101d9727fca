package crd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
)

// FuzzSchemaAndObject defines a kind with any schema and writes any object of it.
// Whatever is sent is taken or refused as the client's fault; what was taken can be
// read, written back without a change, and compiled for discovery and apply.
func FuzzSchemaAndObject(f *testing.F) {
	seedFuzz(f)
	f.Fuzz(func(t *testing.T, schema, object []byte) {
		d := &apiextensions.CustomResourceDefinition{}
		d.Name = "things.example.com"
		d.Spec = apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensions.ClusterScoped, Names: apiextensions.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensions.CustomResourceValidation{}}},
		}
		if json.Unmarshal(schema, &d.Spec.Versions[0].Schema.OpenAPIV3Schema) != nil {
			return // no decoder lets it pass
		}
		server := apiserver.New(apiserver.Options{Definitions: &crd.Cache{}})
		create := &apiserver.Request{Verb: apiserver.Create, Resource: definitions, Object: d}
		if _, err := server.Do(create); err != nil {
			mustBeTheirFault(t, err, http.StatusUnprocessableEntity)
			return
		}
		if s := server.Store().Schema(stored); s == nil {
			t.Fatal("the kind is not served")
		} else if _, err := s.OpenAPI(); err != nil {
			t.Errorf("OpenAPI: %v", err)
		} else if _, err := s.TypeConverter(); err != nil {
			t.Errorf("types for apply: %v", err)
		}
		r, err := server.Do(&apiserver.Request{Verb: apiserver.Create, Resource: stored, Body: object, FieldValidation: "Strict"})
		if err != nil {
			mustBeTheirFault(t, err, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError)
			return
		}
		name, version := r.Object.GetName(), r.Object.GetResourceVersion()
		r, err = server.Do(&apiserver.Request{Verb: apiserver.Update, Resource: stored, Name: name, Object: r.Object})
		if err != nil && bytes.Contains(schema, []byte("oldSelf")) {
			return // a rule about change refuses that there is none
		}
		if err != nil {
			t.Fatalf("write back what was read: %v", err)
		}
		if got := r.Object.GetResourceVersion(); got != version {
			t.Errorf("writing back what was read changed it: %v", r.Object)
		}
	})
}

// mustBeTheirFault checks the class of a refusal. A resourceVersion in a new object is
// refused with 500, but nothing else is.
func mustBeTheirFault(t *testing.T, err error, codes ...int32) {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("no Status: %v", err)
	}
	for _, code := range codes {
		if status.ErrStatus.Code == code && (code != http.StatusInternalServerError || status.ErrStatus.Message == "resourceVersion should not be set on objects to be created") {
			return
		}
	}
	t.Errorf("refused with %d %s: %v", status.ErrStatus.Code, status.ErrStatus.Reason, err)
}

// seedFuzz adds the schemas of the tables, each with the objects written to it.
func seedFuzz(f *testing.F) {
	f.Helper()
	read := func(file string, into any) {
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	var someDefinitions []definitionCase
	read("testdata/definitions.yaml", &someDefinitions)
	for _, c := range someDefinitions {
		if c.Schema != nil {
			f.Add([]byte(c.Schema), []byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"a":{"b":"x"}}`))
		}
	}
	var someObjects []objectCase
	read("testdata/objects.yaml", &someObjects)
	for _, c := range someObjects {
		for _, w := range c.Writes {
			w["apiVersion"], w["kind"], w["metadata"] = "example.com/v1", "Thing", map[string]any{"name": "a"}
			data, err := json.Marshal(w)
			if err != nil {
				f.Fatal(err)
			}
			f.Add([]byte(c.Schema), data)
		}
	}
}
