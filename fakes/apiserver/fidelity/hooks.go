package fidelity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// hooksOf makes hooks of a Validating- or MutatingWebhookConfiguration in JSON.
// They call the suite's webhook server in process.
func hooksOf(config []byte) ([]admission.Hook, error) {
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(config, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("webhook configuration: %w", err)
	}
	var hooks []admission.Hook
	add := func(name string, client registrationv1.WebhookClientConfig, rules []registrationv1.RuleWithOperations,
		namespaces *metav1.LabelSelector, policy *registrationv1.FailurePolicyType, conditions []registrationv1.MatchCondition, again *registrationv1.ReinvocationPolicyType, mutating bool) error {
		address, err := url.Parse(*client.URL)
		if err != nil {
			return fmt.Errorf("webhook %s: %w", name, err)
		}
		selector, err := metav1.LabelSelectorAsSelector(namespaces)
		if err != nil {
			return fmt.Errorf("webhook %s: %w", name, err)
		}
		ask := func(r *admission.Review) admission.Answer { return callWebhook(address.Path, r, mutating) }
		for _, rule := range rules {
			hook := admission.Hook{
				Name: name, Match: match(rule, selector), Ignore: policy != nil && *policy == registrationv1.Ignore,
				Conditions: conditions, Reinvoke: again != nil && *again == registrationv1.IfNeededReinvocationPolicy,
			}
			if mutating {
				hook.Mutate = ask
			} else {
				hook.Validate = ask
			}
			hooks = append(hooks, hook)
		}
		return nil
	}
	switch config := obj.(type) {
	case *registrationv1.ValidatingWebhookConfiguration:
		for _, w := range config.Webhooks {
			if err := add(w.Name, w.ClientConfig, w.Rules, w.NamespaceSelector, w.FailurePolicy, w.MatchConditions, nil, false); err != nil {
				return nil, err
			}
		}
	case *registrationv1.MutatingWebhookConfiguration:
		for _, w := range config.Webhooks {
			if err := add(w.Name, w.ClientConfig, w.Rules, w.NamespaceSelector, w.FailurePolicy, w.MatchConditions, w.ReinvocationPolicy, true); err != nil {
				return nil, err
			}
		}
	}
	return hooks, nil
}

func match(rule registrationv1.RuleWithOperations, namespaces labels.Selector) admission.Match {
	m := admission.Match{Groups: rule.APIGroups, Versions: rule.APIVersions, Resources: rule.Resources, Namespaces: namespaces}
	for _, op := range rule.Operations {
		m.Operations = append(m.Operations, admission.Operation(op))
	}
	return m
}

// callWebhook asks one path of the suite's webhook server.
func callWebhook(path string, r *admission.Review, mutating bool) admission.Answer {
	review, err := reviewOf(r)
	if err != nil {
		return admission.Answer{Err: err}
	}
	rec := httptest.NewRecorder()
	conformance.Webhooks().ServeHTTP(rec, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(review)))
	if rec.Code != http.StatusOK {
		return admission.Answer{Err: fmt.Errorf("an error on the server (%q) has prevented the request from succeeding", rec.Body)}
	}
	var out admissionv1.AdmissionReview
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		return admission.Answer{Err: err}
	}
	answer := admission.Answer{Denied: !out.Response.Allowed, Warnings: out.Response.Warnings}
	if out.Response.Result != nil {
		answer.Status = *out.Response.Result
	}
	if mutating && len(out.Response.Patch) > 0 {
		answer.Err = patchInPlace(r, out.Response.Patch)
	}
	return answer
}

// reviewOf is the AdmissionReview that a webhook is sent.
func reviewOf(r *admission.Review) ([]byte, error) {
	user := authenticationv1.UserInfo{Username: "admin", Groups: []string{"system:masters", "system:authenticated"}}
	if r.User != nil {
		user = authenticationv1.UserInfo{Username: r.User.Name, Groups: r.User.Groups}
	}
	object, err := rawObject(r, r.Object)
	if err != nil {
		return nil, err
	}
	old, err := rawObject(r, r.Old)
	if err != nil {
		return nil, err
	}
	name := r.Name
	if r.Operation == admission.Create && r.Object.GetName() == "" {
		name = "" // still to be generated
	}
	options := r.Options.DeepCopyObject()
	options.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(reflect.TypeOf(options).Elem().Name()))
	return json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: types.UID("00000000-0000-4000-8000-000000000000"), Operation: admissionv1.Operation(r.Operation),
			Kind:        metav1.GroupVersionKind(r.Kind),
			Resource:    metav1.GroupVersionResource(r.Resource),
			SubResource: r.Subresource, Namespace: r.Namespace, Name: name, DryRun: &r.DryRun, UserInfo: user,
			Object: object, OldObject: old, Options: runtime.RawExtension{Object: options},
		},
	})
}

func rawObject(r *admission.Review, obj runtime.Object) (runtime.RawExtension, error) {
	if obj == nil || reflect.ValueOf(obj).IsNil() {
		return runtime.RawExtension{}, nil
	}
	obj = obj.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(r.Kind)
	data, err := json.Marshal(obj)
	return runtime.RawExtension{Raw: data}, err
}

// patchInPlace applies a webhook's JSON patch to the object under review.
func patchInPlace(r *admission.Review, patch []byte) error {
	raw, err := rawObject(r, r.Object)
	if err != nil {
		return err
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return err
	}
	patched, err := decoded.Apply(raw.Raw)
	if err != nil {
		return err
	}
	target := reflect.ValueOf(r.Object).Elem()
	fresh := reflect.New(target.Type())
	if err := json.Unmarshal(patched, fresh.Interface()); err != nil {
		return err
	}
	target.Set(fresh.Elem())
	return nil
}
