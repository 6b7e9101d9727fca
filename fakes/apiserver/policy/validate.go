package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Source is where a request finds what it is held against. What it returns is
// read-only.
type Source interface {
	// Policies returns the policies in force, with their bindings, both sorted by
	// name.
	Policies() []Bound

	// Namespace returns a namespace; an unknown one is empty but for its name.
	Namespace(name string) *corev1.Namespace

	// Kind tells what is known of the kind of parameters; false: nothing.
	Kind(gvk schema.GroupVersionKind) (namespaced, ok bool)

	// Params returns the parameters of a kind in a namespace that match, of the
	// name if it is not empty.
	Params(gvk schema.GroupVersionKind, namespace, name string, selector labels.Selector) []runtime.Object

	// Authorizer answers authorizer.… in expressions.
	Authorizer() authorizer.UnconditionalAuthorizer

	// Convert returns an object in the version of an equivalent kind.
	Convert(obj runtime.Object, to schema.GroupVersionKind) (runtime.Object, error)

	// Equivalents returns the other versions in which a resource is served.
	Equivalents(of schema.GroupVersionResource) []Equivalent
}

// Equivalent is another version of a resource.
type Equivalent struct {
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
}

// Bound is a policy and the bindings that put it into force.
type Bound struct {
	*Policy
	Bindings []*admissionv1.ValidatingAdmissionPolicyBinding
}

// denial is a decision against a request.
type denial struct {
	policy  string
	binding string // empty: the policy itself is wrong
	message string
	reason  metav1.StatusReason
}

func (d *denial) text() string {
	if d.binding == "" {
		return fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", d.policy, d.message)
	}
	return fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.policy, d.binding, d.message)
}

// request is one request on its way through the policies.
type request struct {
	admission.Attributes
	source   Source
	denials  []denial
	warnings []string
	versions map[schema.GroupVersionKind]*admission.VersionedAttributes
}

// Validate holds a request against all policies. The objects in it carry their
// kind. The warnings are also good if there is an error, which is a Status.
func Validate(a admission.Attributes, source Source) (warnings []string, err error) {
	r := &request{Attributes: a, source: source}
	for _, p := range source.Policies() {
		if err := r.hold(p); err != nil {
			return r.warnings, err
		}
	}
	if len(r.denials) == 0 {
		return r.warnings, nil
	}
	return r.warnings, r.refusal()
}

// refusal is the answer to the first denial.
func (r *request) refusal() error {
	d := &r.denials[0]
	var err *apierrors.StatusError
	if !errors.As(admission.NewForbidden(r, errors.New(d.text())), &err) {
		return apierrors.NewInternalError(errors.New(d.text()))
	}
	err.ErrStatus.Reason = d.reason
	if d.reason == "" {
		err.ErrStatus.Reason = metav1.StatusReasonInvalid
	}
	err.ErrStatus.Code = codes[err.ErrStatus.Reason]
	if err.ErrStatus.Code == 0 {
		err.ErrStatus.Code = http.StatusUnprocessableEntity
	}
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Message: d.text()})
	return err
}

var codes = map[metav1.StatusReason]int32{
	metav1.StatusReasonForbidden:             http.StatusForbidden,
	metav1.StatusReasonUnauthorized:          http.StatusUnauthorized,
	metav1.StatusReasonRequestEntityTooLarge: http.StatusRequestEntityTooLarge,
}

// misconfigured notes an error about a policy, or about a binding of it.
func (r *request) misconfigured(p *admissionv1.ValidatingAdmissionPolicy, binding string, err error) {
	if f := p.Spec.FailurePolicy; f != nil && *f == admissionv1.Ignore {
		return
	}
	what := "policy"
	if binding != "" {
		what = "binding"
	}
	r.denials = append(r.denials, denial{policy: p.Name, binding: binding, message: fmt.Sprintf("failed to configure %s: %v", what, err)})
}

func (r *request) hold(p Bound) error {
	resource, kind, ok, err := r.matches(p.spec.Spec.MatchConstraints)
	if err != nil {
		r.misconfigured(p.spec, "", err)
		return nil
	}
	if !ok {
		return nil
	}
	var params gvkOf
	if k := p.spec.Spec.ParamKind; k != nil {
		params = gvkOf{schema.FromAPIVersionAndKind(k.APIVersion, k.Kind), true}
		if _, known := r.source.Kind(params.GroupVersionKind); !known {
			r.misconfigured(p.spec, "", fmt.Errorf("failed to find resource referenced by paramKind: '%v'", params.GroupVersionKind))
			return nil
		}
	}
	for _, b := range p.Bindings {
		if err := r.holdBinding(p, b, params, resource, kind); err != nil {
			return err
		}
	}
	return nil
}

// gvkOf is the kind of a policy's parameters, if it has any.
type gvkOf struct {
	schema.GroupVersionKind
	set bool
}

func (r *request) holdBinding(p Bound, b *admissionv1.ValidatingAdmissionPolicyBinding, kindOfParams gvkOf, resource schema.GroupVersionResource, kind schema.GroupVersionKind) error {
	if b.Spec.MatchResources != nil {
		_, _, ok, err := r.matches(b.Spec.MatchResources)
		if err != nil {
			r.misconfigured(p.spec, b.Name, err)
			return nil
		}
		if !ok {
			return nil
		}
	}
	params, err := r.params(kindOfParams, b.Spec.ParamRef)
	if err != nil {
		r.misconfigured(p.spec, b.Name, err)
		return nil
	}
	if len(params) == 0 {
		return nil
	}
	versioned, err := r.in(kind)
	if err != nil {
		r.misconfigured(p.spec, b.Name, fmt.Errorf("failed to convert object version: %w", err))
		return nil
	}
	var namespace *corev1.Namespace
	if r.GetNamespace() != "" && r.GetKind().GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		namespace = r.source.Namespace(r.GetNamespace())
	}
	for _, param := range params {
		result := p.validator.Validate(context.Background(), resource, versioned, param, namespace, celconfig.RuntimeCELCostBudget, r.source.Authorizer())
		r.decide(p.spec.Name, b, &result)
	}
	return nil
}

// decide does what a binding wants done about what a policy has found.
func (r *request) decide(policy string, b *admissionv1.ValidatingAdmissionPolicyBinding, result *validating.ValidateResult) {
	for _, d := range result.Decisions {
		if d.Action != validating.ActionDeny {
			continue
		}
		for _, action := range b.Spec.ValidationActions {
			switch action {
			case admissionv1.Deny:
				r.denials = append(r.denials, denial{policy: policy, binding: b.Name, message: d.Message, reason: d.Reason})
			case admissionv1.Warn:
				r.warnings = append(r.warnings, fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", policy, b.Name, d.Message))
			}
		}
	}
	for _, a := range result.AuditAnnotations {
		if a.Action == validating.AuditAnnotationActionError {
			r.denials = append(r.denials, denial{policy: policy, binding: b.Name, message: a.Error})
		}
	}
}

// in returns the request's objects in the version that a policy matched.
func (r *request) in(kind schema.GroupVersionKind) (*admission.VersionedAttributes, error) {
	if v, ok := r.versions[kind]; ok {
		return v, nil
	}
	v := &admission.VersionedAttributes{Attributes: r.Attributes, VersionedKind: kind}
	for _, o := range []struct {
		obj runtime.Object
		set func(runtime.Object)
	}{{r.GetOldObject(), v.VersionedOldObject.Set}, {r.GetObject(), v.VersionedObject.Set}} {
		if o.obj == nil {
			continue
		}
		obj := o.obj
		if kind != r.GetKind() {
			var err error
			if obj, err = r.source.Convert(obj, kind); err != nil {
				return nil, err
			}
		}
		o.set(obj)
	}
	if r.versions == nil {
		r.versions = map[schema.GroupVersionKind]*admission.VersionedAttributes{}
	}
	r.versions[kind] = v
	return v, nil
}

// params returns the parameters that a binding refers to; one that is nil if there
// are none to look for.
func (r *request) params(kind gvkOf, ref *admissionv1.ParamRef) ([]runtime.Object, error) {
	if !kind.set || ref == nil {
		return []runtime.Object{nil}, nil
	}
	namespace := ""
	if namespaced, _ := r.source.Kind(kind.GroupVersionKind); namespaced {
		namespace = ref.Namespace
		if namespace == "" {
			namespace = r.GetNamespace()
		}
		if namespace == "" {
			return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
		}
	} else if ref.Namespace != "" {
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	}
	selector := labels.Everything()
	if ref.Name == "" {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(ref.Selector); err != nil {
			return nil, err
		}
	}
	found := r.source.Params(kind.GroupVersionKind, namespace, ref.Name, selector)
	if len(found) == 0 && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == admissionv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return found, nil
}
