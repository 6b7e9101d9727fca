package cloak

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/seedbed-sim/seedbed/core/cloak/webhook"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Paths at which API servers ask.
const (
	PodsPath    = "/pods"
	SecretsPath = "/secrets"
)

// Webhook answers admission reviews of Pods and Secrets. What it is sent may hold values of
// Secrets, so nothing of a request is logged; a refusal names keys and never values.
func Webhook(live kube.Reader, log logr.Logger) (http.Handler, error) {
	mux := http.NewServeMux()
	for path, handler := range map[string]admission.Handler{
		PodsPath:    pods{&webhook.Pods{Live: live}},
		SecretsPath: secrets{},
	} {
		hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: handler}, admission.StandaloneOptions{Logger: log.V(1), MetricsPath: path})
		if err != nil {
			return nil, fmt.Errorf("make the webhook %s: %w", path, err)
		}
		mux.Handle(path, hook)
	}
	return mux, nil
}

// pods is the mutating webhook.
type pods struct{ webhook *webhook.Pods }

// Handle implements admission.Handler.
//
// The patch is from what was understood of the Pod to what became of that, and not from
// what was sent: so fields that this program does not know stay as they are.
func (p pods) Handle(ctx context.Context, req admission.Request) admission.Response {
	pod, old := &corev1.Pod{}, (*corev1.Pod)(nil)
	if err := decode(req.Object.Raw, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if req.Operation == admissionv1.Update {
		old = &corev1.Pod{}
		if err := decode(req.OldObject.Raw, old); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	before, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("encode the Pod: %w", err))
	}
	if err := p.webhook.Mutate(ctx, req.Namespace, pod, old); err != nil {
		return admission.Denied(err.Error())
	}
	after, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("encode the Pod: %w", err))
	}
	return admission.PatchResponseFromRaw(before, after)
}

// secrets is the validating webhook.
type secrets struct{ webhook.Secrets }

// Handle implements admission.Handler.
func (s secrets) Handle(_ context.Context, req admission.Request) admission.Response {
	secret, old := &corev1.Secret{}, (*corev1.Secret)(nil)
	if err := decode(req.Object.Raw, secret); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if req.Operation == admissionv1.Update {
		old = &corev1.Secret{}
		if err := decode(req.OldObject.Raw, old); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	if err := s.Validate(secret, old); err != nil {
		return admission.Denied(err.Error())
	}
	return admission.Allowed("")
}

// decode does not repeat what it was given.
func decode(raw []byte, into any) error {
	if json.Unmarshal(raw, into) != nil {
		return fmt.Errorf("the review has no %T that could be read", into)
	}
	return nil
}
