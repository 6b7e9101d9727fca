package crd_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

var (
	record = flag.String("record", "", "write testdata/told.json anew, as the real API server at this URL tells it")
	token  = flag.String("token", "", "bearer token for -record")
)

// judged is what a server makes of a write.
type judged struct {
	Code    int            `json:"code"`
	Message string         `json:"message,omitempty"` // of a refusal without causes
	Causes  []string       `json:"causes,omitempty"`  // sorted: their order is chance
	Object  map[string]any `json:"object,omitempty"`  // without kind and metadata
}

// told is what was told of each case.
type told struct {
	Definitions map[string]judged   `json:"definitions"`
	Objects     map[string][]judged `json:"objects"`
}

type definitionCase struct {
	Case   string          `json:"case"`
	Schema json.RawMessage `json:"schema"`
	Spec   json.RawMessage `json:"spec"`
}

type objectCase struct {
	Case   string           `json:"case"`
	Schema json.RawMessage  `json:"schema"`
	Status bool             `json:"status"`
	Writes []map[string]any `json:"writes"`
}

// judge lets a server judge every case.
type judge struct {
	*testing.T
	client dynamic.Interface
	real   bool
	number int
}

var definitions = apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions")

// TestWhatARealServerTells compares the verdicts on definitions and objects with
// those of a kube-apiserver v1.37.2, which -record writes down.
func TestWhatARealServerTells(t *testing.T) {
	config := rest.New(apiserver.New(apiserver.Options{})).Config()
	if *record != "" {
		config = &restclient.Config{Host: *record, BearerToken: *token, TLSClientConfig: restclient.TLSClientConfig{Insecure: true}}
	}
	config.QPS = -1
	config.WarningHandler = restclient.NoWarnings{}
	j := &judge{T: t, client: dynamic.NewForConfigOrDie(config), real: *record != ""}
	got := told{Definitions: map[string]judged{}, Objects: map[string][]judged{}}
	var someDefinitions []definitionCase
	j.read("testdata/definitions.yaml", &someDefinitions)
	for _, c := range someDefinitions {
		got.Definitions[c.Case] = j.define(c)
	}
	var someObjects []objectCase
	j.read("testdata/objects.yaml", &someObjects)
	for _, c := range someObjects {
		got.Objects[c.Case] = j.write(c)
	}
	if *record != "" {
		data, err := json.MarshalIndent(got, "", " ")
		j.must(err)
		j.must(os.WriteFile("testdata/told.json", append(data, '\n'), 0o644))
		return
	}
	var want told
	j.read("testdata/told.json", &want)
	data, err := json.Marshal(got)
	j.must(err)
	got = told{}
	j.must(json.Unmarshal(data, &got)) // so that numbers are of the same types
	for _, c := range someDefinitions {
		if diff := cmp.Diff(want.Definitions[c.Case], got.Definitions[c.Case]); diff != "" {
			t.Errorf("%s (-real +fake):\n%s", c.Case, diff)
		}
	}
	for _, c := range someObjects {
		for i, w := range want.Objects[c.Case] {
			if diff := cmp.Diff(w, got.Objects[c.Case][i]); diff != "" {
				t.Errorf("%s: write %d (-real +fake):\n%s", c.Case, i, diff)
			}
		}
	}
}

func (j *judge) must(err error) {
	j.Helper()
	if err != nil {
		j.Fatal(err)
	}
}

func (j *judge) read(file string, into any) {
	j.Helper()
	text, err := os.ReadFile(file)
	j.must(err)
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		j.Fatalf("%s: %v", file, err)
	}
}

// definition is a definition of a group of its own.
func (j *judge) definition(spec map[string]any) *unstructured.Unstructured {
	j.number++
	spec["group"] = fmt.Sprintf("c%d.example.com", j.number)
	spec["names"] = map[string]any{"plural": "things", "kind": "Thing"}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	u.SetName("things." + spec["group"].(string))
	return u
}

func (j *judge) define(c definitionCase) judged {
	spec := map[string]any{}
	if c.Spec != nil {
		j.must(json.Unmarshal(c.Spec, &spec))
	} else {
		spec = oneVersion(c.Schema, false)
	}
	u, err := j.client.Resource(definitions).Create(context.Background(), j.definition(spec), metav1.CreateOptions{})
	if err == nil {
		j.must(j.client.Resource(definitions).Delete(context.Background(), u.GetName(), metav1.DeleteOptions{}))
	}
	return verdict(nil, err)
}

func oneVersion(schema json.RawMessage, status bool) map[string]any {
	version := map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema}}
	if status {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	return map[string]any{"scope": "Cluster", "versions": []any{version}}
}

// write makes the writes of a case.
func (j *judge) write(c objectCase) []judged {
	d := j.definition(oneVersion(c.Schema, c.Status))
	_, err := j.client.Resource(definitions).Create(context.Background(), d, metav1.CreateOptions{})
	j.must(err)
	group := fmt.Sprintf("c%d.example.com", j.number)
	things := j.client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"})
	for j.real { // a real server takes a moment to serve it
		if _, err := things.List(context.Background(), metav1.ListOptions{}); err == nil {
			break
		}
	}
	var out []judged
	var last *unstructured.Unstructured
	objects := 0
	for _, content := range c.Writes {
		u := &unstructured.Unstructured{Object: content}
		create, to := content["create"] == true || last == nil, content["to"]
		delete(content, "create")
		delete(content, "to")
		u.SetAPIVersion(group + "/v1")
		u.SetKind("Thing")
		var got *unstructured.Unstructured
		var err error
		if create {
			objects++
			u.SetName(fmt.Sprintf("t%d", objects))
			got, err = things.Create(context.Background(), u, metav1.CreateOptions{})
		} else {
			u.SetName(last.GetName())
			u.SetResourceVersion(last.GetResourceVersion())
			var sub []string
			if to != nil {
				sub = append(sub, to.(string))
			}
			got, err = things.Update(context.Background(), u, metav1.UpdateOptions{}, sub...)
		}
		if err == nil {
			last = got
		}
		out = append(out, verdict(got, err))
	}
	j.must(j.client.Resource(definitions).Delete(context.Background(), d.GetName(), metav1.DeleteOptions{}))
	return out
}

func verdict(u *unstructured.Unstructured, err error) judged {
	var status *apierrors.StatusError
	switch {
	case errors.As(err, &status):
		v := judged{Code: int(status.ErrStatus.Code)}
		if d := status.ErrStatus.Details; d != nil {
			for _, c := range d.Causes {
				v.Causes = append(v.Causes, fmt.Sprintf("%s: %s: %s", c.Field, c.Type, c.Message))
			}
		}
		slices.Sort(v.Causes)
		if len(v.Causes) == 0 {
			v.Message = status.ErrStatus.Message
		}
		return v
	case err != nil:
		return judged{Message: err.Error()}
	case u == nil:
		return judged{Code: 201}
	}
	content := u.DeepCopy().Object
	delete(content, "metadata")
	delete(content, "kind")
	delete(content, "apiVersion")
	return judged{Code: 200, Object: content}
}
