package apiserver

import (
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// virtual are the answers to kinds of which nothing is stored and that are created.
var virtual map[schema.GroupResource]func(c *call, sent Object) (*Response, error)

func init() { // not a literal: the handlers refer to it in the end
	virtual = map[schema.GroupResource]func(*call, Object) (*Response, error){
		authenticationv1.Resource("tokenreviews"):             (*call).reviewToken,
		authenticationv1.Resource("selfsubjectreviews"):       (*call).reviewSelf,
		authorizationv1.Resource("subjectaccessreviews"):      (*call).reviewAccess,
		authorizationv1.Resource("localsubjectaccessreviews"): (*call).reviewAccess,
		authorizationv1.Resource("selfsubjectaccessreviews"):  (*call).reviewAccess,
		authorizationv1.Resource("selfsubjectrulesreviews"):   (*call).reviewRules,
		corev1.Resource("bindings"):                           (*call).bindByName,
	}
}

// dispatchVirtual serves a kind of which nothing is stored.
func (c *call) dispatchVirtual() (*Response, error) {
	switch known := slices.Contains(c.ep.Virtual, string(c.req.Verb)); {
	case known:
	case c.req.Name != "":
		return nil, errNoResource()
	default:
		return nil, errMethod()
	}
	if c.ep.gr == corev1.Resource("componentstatuses") {
		return c.components()
	}
	if err := c.checkWriteOptions("CreateOptions"); err != nil {
		return nil, err
	}
	obj, err := c.body()
	if err != nil {
		return nil, err
	}
	wipe(obj)
	if err := c.placeIn(obj); err != nil {
		return nil, err
	}
	c.ownFresh(obj, c.ep.GroupVersionKind)
	if err := c.mutate(admission.Create, obj, nil); err != nil {
		return nil, err
	}
	if err := c.validatePart(admission.Create, obj, nil, c.ep.GroupVersionKind); err != nil {
		return nil, err
	}
	return virtual[c.ep.gr](c, obj)
}
