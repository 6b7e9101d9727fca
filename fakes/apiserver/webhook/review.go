package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// reviewUID is that of every review: nobody compares them, and a run is to repeat.
const reviewUID types.UID = "00000000-0000-4000-8000-000000000000"

// Handler asks an HTTP handler.
func Handler(h http.Handler) Ask {
	return func(path string, review []byte) ([]byte, error) {
		rec := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(review))
		request.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(rec, request)
		if rec.Code != http.StatusOK {
			return nil, fmt.Errorf("an error on the server (%q) has prevented the request from succeeding", rec.Body)
		}
		return rec.Body.Bytes(), nil
	}
}

var errNoResponse = errors.New("webhook response was absent")

// review asks about one request. If it is a mutating webhook that is asked, its patch is
// applied.
func (ask Ask) review(path string, r *admission.Review, mutating bool) admission.Answer {
	review, err := reviewOf(r)
	if err != nil {
		return admission.Answer{Err: err}
	}
	text, err := ask(path, review)
	if err != nil {
		return admission.Answer{Err: err}
	}
	var out admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &out); err != nil {
		return admission.Answer{Err: err}
	}
	if out.Response == nil {
		return admission.Answer{Err: errNoResponse}
	}
	answer := admission.Answer{Denied: !out.Response.Allowed, Warnings: out.Response.Warnings}
	if out.Response.Result != nil {
		answer.Status = *out.Response.Result
	}
	if mutating && !answer.Denied && len(out.Response.Patch) > 0 {
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
			UID: reviewUID, Operation: admissionv1.Operation(r.Operation),
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
