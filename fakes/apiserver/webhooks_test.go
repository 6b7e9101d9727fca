package apiserver_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// TestRule15BadWebhookConfigurations has the causes that a real server names.
func TestRule15BadWebhookConfigurations(t *testing.T) {
	text, err := os.ReadFile("testdata/webhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Mutating bool            `json:"mutating"`
		Webhooks json.RawMessage `json:"webhooks"`
		Causes   []string        `json:"causes"`
	}
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	a := newAPI(t)
	for _, c := range cases {
		plural := "validatingwebhookconfigurations"
		if c.Mutating {
			plural = "mutatingwebhookconfigurations"
		}
		_, err := a.Do(&apiserver.Request{
			Verb: apiserver.Create, Resource: registrationv1.SchemeGroupVersion.WithResource(plural), DryRun: []string{"All"},
			Body: []byte(`{"metadata":{"name":"t"},"webhooks":` + string(c.Webhooks) + `}`),
		})
		var status *apierrors.StatusError
		if !errors.As(err, &status) || status.ErrStatus.Code != 422 {
			t.Errorf("%s: got %v", c.Webhooks, err)
			continue
		}
		var causes []string
		for _, cause := range status.ErrStatus.Details.Causes {
			causes = append(causes, cause.Field+": "+cause.Message)
		}
		slices.Sort(c.Causes) // several about one field are in an order of their own
		slices.Sort(causes)
		if diff := cmp.Diff(c.Causes, causes); diff != "" {
			t.Errorf("%s (-real +fake):\n%s", c.Webhooks, diff)
		}
	}
}
