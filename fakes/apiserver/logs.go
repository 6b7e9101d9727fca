package apiserver

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LogSource answers in place of the kubelet on a pod's node. The container in the
// options is one of the pod's. Its error goes to the client.
type LogSource func(pod *corev1.Pod, opts *corev1.PodLogOptions) ([]byte, error)

// log serves pods/log. A pod without a node has said nothing yet.
func (c *call) log() (*Response, error) {
	opts := corev1.PodLogOptions{}
	if c.req.Logs != nil {
		opts = *c.req.Logs
	}
	if errs := validateLogOptions(&opts); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), c.req.Name, errs)
	}
	o, ok, err := c.load(c.key())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, c.errNotFound()
	}
	pod := o.(*corev1.Pod)
	if opts.Container, err = containerOf(pod, opts.Container); err != nil {
		return nil, err
	}
	switch {
	case pod.Spec.NodeName == "":
		return &Response{Code: http.StatusNoContent, Raw: []byte{}}, nil
	case c.store.opts.Logs == nil:
		return nil, errNotModelled("logs of pods on nodes without Options.Logs")
	case opts.Follow:
		return nil, errNotModelled("logs that are followed")
	}
	text, err := c.store.opts.Logs(pod, &opts)
	if err != nil {
		return nil, err
	}
	if text == nil {
		text = []byte{}
	}
	return &Response{Code: http.StatusOK, Raw: text}, nil
}

func validateLogOptions(o *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	if n := o.TailLines; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *n, "must be greater than or equal to 0"))
	}
	if n := o.LimitBytes; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *n, "must be greater than 0"))
	}
	switch {
	case o.SinceSeconds != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case o.SinceSeconds != nil && *o.SinceSeconds < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *o.SinceSeconds, "must be greater than 0"))
	}
	return errs
}

// containerOf checks the name of a container, or finds the only one.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	var all []string
	for i := range pod.Spec.InitContainers {
		all = append(all, pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.Containers {
		all = append(all, pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.EphemeralContainers {
		all = append(all, pod.Spec.EphemeralContainers[i].Name)
	}
	if name == "" && len(pod.Spec.Containers) == 1 {
		return pod.Spec.Containers[0].Name, nil
	}
	if name == "" {
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, all))
	}
	for _, n := range all {
		if n == name {
			return name, nil
		}
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
}
