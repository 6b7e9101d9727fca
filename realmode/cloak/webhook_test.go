package cloak_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	corecloak "github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/realmode/cloak"
)

// TestFieldsOfTomorrow: what this program does not know of a Pod stays as it is.
func TestFieldsOfTomorrow(t *testing.T) {
	handler, err := cloak.Webhook(client.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	const pod = `{"metadata":{"name":"p","labels":{"getkloak.io/enabled":"true"}},"spec":{"fieldOfTomorrow":{"a":[1,2]},"containers":[{"name":"c","image":"i","alsoNew":true}]}}`
	ask := func(object string) *admissionv1.AdmissionResponse {
		t.Helper()
		body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","namespace":"default","operation":"CREATE","object":` + object + `}}`
		r := httptest.NewRequest(http.MethodPost, cloak.PodsPath, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
			t.Fatal(err)
		}
		return review.Response
	}
	response := ask(pod)
	if !response.Allowed {
		t.Fatalf("refused: %v", response.Result)
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	got, err := patch.Apply([]byte(pod))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"fieldOfTomorrow":{"a":[1,2]}`, `"alsoNew":true`, `"annotations":{"getkloak.io/enabled":"true"}`} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if response := ask(`"my secret"`); response.Allowed || response.Result.Code != http.StatusBadRequest || strings.Contains(response.Result.Message, "my secret") {
		t.Errorf("answer to what is no Pod: %v", response)
	}
}

// TestSlim: values stay in what is protected and in shadows, and nowhere else.
func TestSlim(t *testing.T) {
	for _, c := range []struct {
		name   string
		labels map[string]string
		keeps  bool
	}{
		{"another", nil, false},
		{"protected", map[string]string{corecloak.AnnotationSecretEnabled: "true"}, true},
		{"no longer protected", map[string]string{corecloak.AnnotationSecretEnabled: "false"}, false},
		{"a shadow", map[string]string{corecloak.LabelManaged: "true"}, true},
	} {
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: c.labels, Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "all of it", "k": "v"}},
			Data:       map[string][]byte{"v": []byte("value")},
		}
		cloak.Slim(s)
		if (len(s.Data) > 0) != c.keeps || len(s.Annotations) != 1 {
			t.Errorf("%s: %v", c.name, s)
		}
	}
}
