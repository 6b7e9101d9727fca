package apiserver

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// components tells how the parts of the control plane are: etcd, which is here, is
// well, and nothing listens where the others would.
func (c *call) components() (*Response, error) {
	c.warn("v1 ComponentStatus is deprecated in v1.19+")
	all := []Object{
		component("scheduler", corev1.ConditionFalse, refused("10259")),
		component("controller-manager", corev1.ConditionFalse, refused("10257")),
		component("etcd-0", corev1.ConditionTrue, "ok"),
	}
	if c.req.Verb == List {
		return &Response{Code: http.StatusOK, Items: all}, nil
	}
	for _, o := range all {
		if o.GetName() == c.req.Name {
			return &Response{Code: http.StatusOK, Object: o}, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "componentstatus"}, c.req.Name)
}

func refused(port string) string {
	return `Get "https://127.0.0.1:` + port + `/healthz": dial tcp 127.0.0.1:` + port + `: connect: connection refused`
}

func component(name string, healthy corev1.ConditionStatus, message string) *corev1.ComponentStatus {
	return &corev1.ComponentStatus{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Conditions: []corev1.ComponentCondition{{Type: corev1.ComponentHealthy, Status: healthy, Message: message}},
	}
}
