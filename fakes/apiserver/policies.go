package apiserver

import (
	"context"
	"fmt"
	"sync"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/policy"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

var (
	policyResource        = registrationv1.Resource("validatingadmissionpolicies")
	policyBindingResource = registrationv1.Resource("validatingadmissionpolicybindings")
)

// policies are the compiled admission policies of a store. What is not in force any
// more is forgotten with the next change.
type policies struct {
	bindings *store.Table // empty in most clusters, and then nothing else is looked at

	mu       sync.Mutex
	compiled map[*registrationv1.ValidatingAdmissionPolicy]*policy.Policy
}

// inForce returns the policies that have bindings.
func (c *call) inForce() []policy.Bound {
	byPolicy := map[string][]*registrationv1.ValidatingAdmissionPolicyBinding{}
	for _, b := range all[*registrationv1.ValidatingAdmissionPolicyBinding](peers{c.store}.Peers(policyBindingResource, "")) {
		byPolicy[b.Spec.PolicyName] = append(byPolicy[b.Spec.PolicyName], b)
	}
	p := &c.store.policies
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := map[*registrationv1.ValidatingAdmissionPolicy]*policy.Policy{}
	var out []policy.Bound
	for _, spec := range all[*registrationv1.ValidatingAdmissionPolicy](peers{c.store}.Peers(policyResource, "")) {
		if len(byPolicy[spec.Name]) == 0 {
			continue
		}
		compiled, ok := p.compiled[spec] // stored objects never change
		if !ok {
			compiled = policy.Compile(spec)
		}
		kept[spec] = compiled
		out = append(out, policy.Bound{Policy: compiled, Bindings: byPolicy[spec.Name]})
	}
	p.compiled = kept
	return out
}

// validateByPolicies holds a write against the admission policies.
func (c *call) validateByPolicies(r *admission.Review) error {
	if exemptFromPolicies(c.ep.gr) {
		return nil
	}
	warnings, err := policy.Validate(c.attributes(r), policySource{c})
	c.warnings = append(c.warnings, warnings...)
	return err
}

// attributes are a review as expressions see it.
func (c *call) attributes(r *admission.Review) kadmission.Attributes {
	return kadmission.NewAttributesRecord(c.shown(r.Object, r.Kind), c.shown(r.Old, r.Kind), r.Kind, r.Namespace, r.Name, r.Resource, r.Subresource,
		kadmission.Operation(r.Operation), r.Options, r.DryRun, c.info())
}

// meets reports whether a request meets the conditions of a hook.
func (c *call) meets(h *admission.Hook, r *admission.Review) (bool, error) {
	known, ok := c.store.conditions.Load(h)
	if !ok {
		failure := registrationv1.Fail
		if h.Ignore {
			failure = registrationv1.Ignore
		}
		compiled, err := policy.CompileConditions(h.Conditions, failure, h.Name)
		if err != nil {
			return false, apierrors.NewInternalError(err)
		}
		known, _ = c.store.conditions.LoadOrStore(h, compiled)
	}
	met, err := known.(*policy.Conditions).Meets(c.attributes(r), celAuthorizer{c})
	if err != nil {
		return false, apierrors.NewForbidden(r.Resource.GroupResource(), r.Name, err)
	}
	return met, nil
}

// exemptFromPolicies says what policies must not get in the way of: themselves, and
// the questions who may do what.
func exemptFromPolicies(gr schema.GroupResource) bool {
	switch gr.Group {
	case authenticationv1.GroupName, authorizationv1.GroupName:
		return true
	case registrationv1.GroupName:
		return gr == policyResource || gr == policyBindingResource ||
			gr.Resource == "mutatingadmissionpolicies" || gr.Resource == "mutatingadmissionpolicybindings"
	}
	return false
}

// shown is an object as expressions see it: with its kind.
func (c *call) shown(obj Object, kind schema.GroupVersionKind) runtime.Object {
	if obj == nil {
		return nil
	}
	out := shape.ShallowCopy(obj).(Object)
	out.GetObjectKind().SetGroupVersionKind(kind)
	return out
}

func (c *call) info() user.Info {
	u := c.caller()
	return &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
}

// policySource lets policies look at the store.
type policySource struct{ c *call }

func (s policySource) Policies() []policy.Bound { return s.c.inForce() }

func (s policySource) Namespace(name string) *corev1.Namespace {
	if ns, ok := s.c.namespace(name); ok {
		return ns
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func (s policySource) Kind(gvk schema.GroupVersionKind) (namespaced, ok bool) {
	e, ok := s.c.store.kinds.LookupKind(gvk)
	if !ok || e.Virtual != nil {
		return false, false
	}
	return !e.Cluster, true
}

func (s policySource) Params(gvk schema.GroupVersionKind, namespace, name string, selector labels.Selector) []runtime.Object {
	e, ok := s.c.store.kinds.LookupKind(gvk)
	if !ok {
		return nil
	}
	var out []runtime.Object
	for _, o := range (peers{s.c.store}).Peers(e.GroupResource(), namespace) {
		if name != "" && o.GetName() != name || !selector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		if e.Version != nil {
			o = e.Version.From(o)
		}
		out = append(out, s.c.shown(o, gvk))
	}
	return out
}

func (s policySource) Convert(obj runtime.Object, to schema.GroupVersionKind) (runtime.Object, error) {
	from, ok := s.c.store.kinds.LookupKind(obj.GetObjectKind().GroupVersionKind())
	target, known := s.c.store.kinds.LookupKind(to)
	o, isObject := obj.(Object)
	if !ok || !known || !isObject || from.Kind != target.Kind {
		return nil, fmt.Errorf("unable to convert to %v: unknown kind", to)
	}
	if from.Version != nil {
		o = from.Version.To(o)
	}
	if target.Version != nil {
		o = target.Version.From(o)
	}
	return s.c.shown(o, to), nil
}

func (s policySource) Equivalents(of schema.GroupVersionResource) []policy.Equivalent {
	e, ok := s.c.store.kinds.Lookup(of)
	if !ok {
		return nil
	}
	var out []policy.Equivalent
	add := func(gvk schema.GroupVersionKind) {
		if gvr := gvk.GroupVersion().WithResource(e.Plural); gvr != of {
			out = append(out, policy.Equivalent{Resource: gvr, Kind: gvk})
		}
	}
	add(e.GroupVersionKind)
	for i := range e.Versions {
		add(e.Versions[i].GroupVersionKind)
	}
	return out
}

func (s policySource) Authorizer() authorizer.UnconditionalAuthorizer { return celAuthorizer(s) }

// celAuthorizer answers the variable authorizer of expressions.
type celAuthorizer struct{ c *call }

// Authorize implements authorizer.UnconditionalAuthorizer.
func (a celAuthorizer) Authorize(_ context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	u := asked.GetUser()
	attributes := &authz.Attributes{
		User: &User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}, Verb: asked.GetVerb(),
		Group: asked.GetAPIGroup(), Resource: asked.GetResource(), Subresource: asked.GetSubresource(),
		Namespace: asked.GetNamespace(), Name: asked.GetName(),
	}
	if !asked.IsResourceRequest() {
		attributes.Path = asked.GetPath()
	}
	if ok, reason := a.c.explain(attributes); !ok {
		return authorizer.DecisionNoOpinion, reason, nil
	}
	return authorizer.DecisionAllow, "", nil
}
