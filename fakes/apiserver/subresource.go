package apiserver

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// extraSubresource is one that only a single kind has.
type extraSubresource struct {
	kind   schema.GroupVersionKind
	verbs  []string
	handle func(*call) (*Response, error) // nil: known, but not modelled
}

var extraSubresources map[schema.GroupResource]map[string]extraSubresource

func init() { // not a literal: the handlers refer to it in the end
	create := []string{"create"}
	proxy := []string{"create", "delete", "get", "patch", "update"}
	extraSubresources = map[schema.GroupResource]map[string]extraSubresource{
		{Resource: "pods"}: {
			"binding":             {corev1.SchemeGroupVersion.WithKind("Binding"), create, (*call).bind},
			"eviction":            {policyv1.SchemeGroupVersion.WithKind("Eviction"), create, (*call).evict},
			"ephemeralcontainers": {corev1.SchemeGroupVersion.WithKind("Pod"), subVerbs, (*call).debug},
			"resize":              {corev1.SchemeGroupVersion.WithKind("Pod"), subVerbs, (*call).resize},
			"log":                 {corev1.SchemeGroupVersion.WithKind("Pod"), []string{"get"}, (*call).log},
			"exec":                {corev1.SchemeGroupVersion.WithKind("PodExecOptions"), []string{"create", "get"}, (*call).stream},
			"attach":              {corev1.SchemeGroupVersion.WithKind("PodAttachOptions"), []string{"create", "get"}, (*call).stream},
			"portforward":         {corev1.SchemeGroupVersion.WithKind("PodPortForwardOptions"), []string{"create", "get"}, (*call).stream},
			"proxy":               {corev1.SchemeGroupVersion.WithKind("PodProxyOptions"), proxy, nil},
		},
		{Resource: "nodes"}: {
			"proxy": {corev1.SchemeGroupVersion.WithKind("NodeProxyOptions"), proxy, nil},
		},
		{Resource: "services"}: {
			"proxy": {corev1.SchemeGroupVersion.WithKind("ServiceProxyOptions"), proxy, nil},
		},
		{Resource: "namespaces"}: {
			"finalize": {corev1.SchemeGroupVersion.WithKind("Namespace"), []string{"update"}, (*call).finalize},
		},
		certificatesv1.Resource("certificatesigningrequests"): {
			"approval": {certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), subVerbs, (*call).approve},
		},
		{Resource: "serviceaccounts"}: {
			"token": {schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}, create, (*call).issueToken},
		},
	}
}

func (c *call) dispatchSubresource() (*Response, error) {
	switch {
	case c.req.Subresource == "status" && c.ep.Status != nil:
		return c.dispatchPart(&statusTarget)
	case (c.req.Subresource == "status" || c.req.Subresource == "scale" && c.ep.Scale == nil) && c.ep.Custom:
		return nil, c.errNotFound()
	case c.req.Subresource == "scale" && c.ep.Scale != nil:
		return c.dispatchScale()
	}
	sub, ok := extraSubresources[c.ep.gr][c.req.Subresource]
	if !ok {
		return nil, errNoResource()
	}
	for _, v := range sub.verbs {
		if v != string(c.req.Verb) {
			continue
		}
		if sub.handle == nil {
			return nil, errNotModelled(c.ep.Plural + "/" + c.req.Subresource)
		}
		return sub.handle(c)
	}
	return nil, errMethod()
}

// stream serves what opens a connection to the kubelet of a pod's node. A pod without
// a node has none.
func (c *call) stream() (*Response, error) {
	o, ok, err := c.load(c.key())
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, c.errNotFound()
	case o.(*corev1.Pod).Spec.NodeName == "":
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", c.req.Name))
	}
	return nil, errNotModelled(c.ep.Plural + "/" + c.req.Subresource)
}

// dispatchPart serves a subresource that is a part of the object.
func (c *call) dispatchPart(t *target) (*Response, error) {
	switch c.req.Verb {
	case Get:
		return c.get()
	case Update:
		return c.update(t)
	case Patch:
		return c.patch(t)
	default:
		return nil, errMethod()
	}
}
