package webhook_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/webhook"
)

func at(path string) registrationv1.WebhookClientConfig {
	return registrationv1.WebhookClientConfig{Service: &registrationv1.ServiceReference{Name: "s", Namespace: "n", Path: &path}}
}

func rule(ops ...registrationv1.OperationType) registrationv1.RuleWithOperations {
	return registrationv1.RuleWithOperations{Operations: ops, Rule: registrationv1.Rule{
		APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
	}}
}

// server answers with a patch, a refusal, an error, or nothing at all, by the path.
type server struct{ asked []string }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.asked = append(s.asked, r.URL.Path+" "+string(review.Request.Operation)+" "+review.Request.Name)
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	switch r.URL.Path {
	case "/patch":
		answer.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
		answer.Patch = []byte(`[{"op":"add","path":"/data","value":{"by":"webhook"}}]`)
		answer.Warnings = []string{"it is changed"}
	case "/refuse":
		answer.Allowed, answer.Result = false, &metav1.Status{Code: 403, Message: "no"}
	case "/fail":
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	case "/nothing":
		answer = nil
	}
	review.Request, review.Response = nil, answer
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func TestWebhooks(t *testing.T) {
	selected := &metav1.LabelSelector{MatchLabels: map[string]string{"hooked": "yes"}}
	for _, tc := range []struct {
		row    string
		path   string
		mutate bool
		ignore bool
		want   string // the error, or the data of what is stored
		asked  int
	}{
		{"a patch", "/patch", true, false, "map[by:webhook]", 1},
		{"a patch of one that may not", "/patch", false, false, "map[]", 1},
		{"a refusal", "/refuse", false, false, `admission webhook "h" denied the request: no`, 1},
		{"a refusal before", "/refuse", true, true, `admission webhook "h" denied the request: no`, 1},
		{"a failure", "/fail", true, false, `an error on the server ("broken\n") has prevented the request from succeeding`, 1},
		{"a failure that does not matter", "/fail", false, true, "map[]", 1},
		{"no answer", "/nothing", true, false, "webhook response was absent", 1},
	} {
		s := &server{}
		store := apiserver.NewStore(apiserver.Options{})
		failure := registrationv1.Fail
		if tc.ignore {
			failure = registrationv1.Ignore
		}
		// Two rules are for the same request, of which the webhook is asked once.
		rules := []registrationv1.RuleWithOperations{rule("CREATE"), rule("CREATE", "UPDATE")}
		hooks, err := webhook.Validating(&registrationv1.ValidatingWebhookConfiguration{Webhooks: []registrationv1.ValidatingWebhook{
			{Name: "h", ClientConfig: at(tc.path), Rules: rules, FailurePolicy: &failure, ObjectSelector: selected}}}, webhook.Handler(s))
		if tc.mutate {
			hooks, err = webhook.Mutating(&registrationv1.MutatingWebhookConfiguration{Webhooks: []registrationv1.MutatingWebhook{
				{Name: "h", ClientConfig: at(tc.path), Rules: rules, FailurePolicy: &failure, ObjectSelector: selected}}}, webhook.Handler(s))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hooks {
			store.Hook(h)
		}
		c := apiclient.New(apiserver.NewServer(store, "apiserver"), clientscheme.Scheme)
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"hooked": "yes"}}}
		got := "map[]"
		if err := c.Create(context.Background(), cm); err != nil {
			got = err.Error()
		} else if len(cm.Data) > 0 {
			got = "map[by:" + cm.Data["by"] + "]"
		}
		if !strings.Contains(got, tc.want) || len(s.asked) != tc.asked {
			t.Errorf("%s: %s, want %s; asked %q", tc.row, got, tc.want, s.asked)
		}
		other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}
		if err := c.Create(context.Background(), other); err != nil || len(s.asked) != tc.asked {
			t.Errorf("%s: one that is not selected: %v, asked %q", tc.row, err, s.asked)
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}
	for _, tc := range []struct {
		hook registrationv1.ValidatingWebhook
		want string
	}{
		{registrationv1.ValidatingWebhook{Name: "h"}, "ValidatingWebhookConfiguration c: webhook h: clientConfig: neither service nor url is set; set one of them"},
		{registrationv1.ValidatingWebhook{Name: "h", ClientConfig: registrationv1.WebhookClientConfig{URL: ptr.To(":")}}, "ValidatingWebhookConfiguration c: webhook h: clientConfig: parse \":\": missing protocol scheme"},
		{registrationv1.ValidatingWebhook{Name: "h", ClientConfig: at("/"), NamespaceSelector: bad}, "ValidatingWebhookConfiguration c: webhook h: namespaceSelector: \"Is\" is not a valid label selector operator"},
		{registrationv1.ValidatingWebhook{Name: "h", ClientConfig: at("/"), ObjectSelector: bad}, "ValidatingWebhookConfiguration c: webhook h: objectSelector: \"Is\" is not a valid label selector operator"},
	} {
		_, err := webhook.Validating(&registrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "c"}, Webhooks: []registrationv1.ValidatingWebhook{tc.hook}}, nil)
		got := "nil"
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}
