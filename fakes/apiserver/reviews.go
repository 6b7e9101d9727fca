package apiserver

import (
	"errors"
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
)

// Reviews ask who somebody is and what he may do. They are answered and forgotten.

// administrator is who makes requests without a User.
var administrator = &User{Name: "admin", UID: "1", Groups: []string{"system:masters", groupAuthenticated}}

// caller is who makes the request.
func (c *call) caller() *User {
	if c.req.User == nil {
		return administrator
	}
	return c.req.User
}

func (c *call) reviewed(obj Object) (*Response, error) {
	return &Response{Code: http.StatusCreated, Object: obj}, nil
}

func userInfo(u *User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: slices.Clone(u.Groups)}
	if len(u.Extra) > 0 {
		info.Extra = make(map[string]authenticationv1.ExtraValue, len(u.Extra))
		for k, v := range u.Extra {
			info.Extra[k] = slices.Clone(v)
		}
	}
	return info
}

func (c *call) reviewSelf(obj Object) (*Response, error) {
	if err := c.validateByHooks(admission.Create, obj, nil); err != nil {
		return nil, err
	}
	return c.reviewed(&authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: c.now()},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: userInfo(c.caller())},
	})
}

func (c *call) reviewToken(obj Object) (*Response, error) {
	r := obj.(*authenticationv1.TokenReview)
	if r.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	if err := c.validateByHooks(admission.Create, obj, nil); err != nil {
		return nil, err
	}
	r.Status = authenticationv1.TokenReviewStatus{}
	found, err := c.store.Authenticate(r.Spec.Token, r.Spec.Audiences)
	if err != nil {
		r.Status.Error = err.Error()
		return c.reviewed(r)
	}
	u := found.User
	if u == nil {
		u = administrator
	}
	r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: userInfo(u), Audiences: found.Audiences}
	return c.reviewed(r)
}

// reviewAccess answers the three kinds of access reviews.
func (c *call) reviewAccess(obj Object) (*Response, error) {
	var errs field.ErrorList
	var status *authorizationv1.SubjectAccessReviewStatus
	who := &User{}
	var resource *authorizationv1.ResourceAttributes
	var path *authorizationv1.NonResourceAttributes
	switch r := obj.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		who, resource, path, status = c.caller(), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes, &r.Status
		errs = append(validateAccess(resource, path), emptyMetadata(&r.ObjectMeta, false)...)
	case *authorizationv1.SubjectAccessReview:
		who, resource, path, status = subject(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes, &r.Status
		errs = append(validateSubject(&r.Spec), emptyMetadata(&r.ObjectMeta, false)...)
	case *authorizationv1.LocalSubjectAccessReview:
		who, resource, path, status = subject(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes, &r.Status
		errs = append(validateSubject(&r.Spec), emptyMetadata(&r.ObjectMeta, true)...)
		errs = append(errs, validateLocal(r)...)
	}
	if len(errs) > 0 { // a real server forgets which kind it is about
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
	}
	if err := c.validateByHooks(admission.Create, obj, nil); err != nil {
		return nil, err
	}
	*status = authorizationv1.SubjectAccessReviewStatus{}
	a := &authz.Attributes{User: who}
	if resource != nil {
		a.Verb, a.Group, a.Resource, a.Subresource = resource.Verb, resource.Group, resource.Resource, resource.Subresource
		a.Namespace, a.Name = resource.Namespace, resource.Name
		status.EvaluationError = selectorErrors(resource)
	} else {
		a.Verb, a.Path = path.Verb, path.Path
	}
	status.Allowed, status.Reason = c.explain(a)
	return c.reviewed(obj)
}

// explainer is an authorizer that says why something is allowed.
type explainer interface {
	Explain(a *authz.Attributes) (allowed bool, reason string)
}

func (c *call) explain(a *authz.Attributes) (bool, string) {
	switch by := c.store.opts.Authorizer.(type) {
	case nil:
		return true, ""
	case explainer:
		return by.Explain(a)
	default:
		return by.Authorize(a)
	}
}

func subject(s *authorizationv1.SubjectAccessReviewSpec) *User {
	u := &User{Name: s.User, UID: s.UID, Groups: s.Groups}
	if len(s.Extra) > 0 {
		u.Extra = make(map[string][]string, len(s.Extra))
		for k, v := range s.Extra {
			u.Extra[k] = v
		}
	}
	return u
}

func validateSubject(s *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateEither(s.ResourceAttributes, s.NonResourceAttributes)
	if s.User == "" && len(s.Groups) == 0 {
		errs = append(errs, field.Invalid(spec.Child("user"), s.User, "at least one of user or group must be specified"))
	}
	return append(errs, validateResource(s.ResourceAttributes)...)
}

func validateAccess(r *authorizationv1.ResourceAttributes, p *authorizationv1.NonResourceAttributes) field.ErrorList {
	return append(validateEither(r, p), validateResource(r)...)
}

func validateEither(r *authorizationv1.ResourceAttributes, p *authorizationv1.NonResourceAttributes) field.ErrorList {
	if (r != nil) != (p != nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), p, "exactly one of nonResourceAttributes or resourceAttributes must be specified")}
}

func validateResource(r *authorizationv1.ResourceAttributes) field.ErrorList {
	if r == nil {
		return nil
	}
	p := field.NewPath("spec.resourceAttributes")
	var errs field.ErrorList
	if s := r.FieldSelector; s != nil {
		errs = append(errs, validateSelector(s.RawSelector, len(s.Requirements), p.Child("fieldSelector"))...)
	}
	if s := r.LabelSelector; s != nil {
		errs = append(errs, validateSelector(s.RawSelector, len(s.Requirements), p.Child("labelSelector"))...)
	}
	return errs
}

func validateSelector(raw string, requirements int, p *field.Path) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(p.Child("rawSelector"), raw, "may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(p.Child("requirements"), "when "+p.String()+" is specified, requirements or rawSelector is required")}
	}
	return nil
}

// selectorErrors says which selectors cannot be read and are ignored. RBAC does not
// look at them.
func selectorErrors(r *authorizationv1.ResourceAttributes) string {
	var text string
	if s := r.FieldSelector; s != nil && s.RawSelector != "" {
		if _, err := fields.ParseSelector(s.RawSelector); err != nil {
			text = "spec.resourceAttributes.fieldSelector ignored due to parse error"
		}
	}
	if s := r.LabelSelector; s != nil && s.RawSelector != "" {
		if _, err := labels.Parse(s.RawSelector); err != nil {
			if text != "" {
				text += "; "
			}
			text += "spec.resourceAttributes.labelSelector ignored due to parse error"
		}
	}
	return text
}

func emptyMetadata(m *metav1.ObjectMeta, local bool) field.ErrorList {
	left := *m
	left.ManagedFields = nil
	text := "must be empty"
	if local {
		left.Namespace, text = "", "must be empty except for namespace"
	}
	if equality.Semantic.DeepEqual(metav1.ObjectMeta{}, left) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), m, text)}
}

func validateLocal(r *authorizationv1.LocalSubjectAccessReview) field.ErrorList {
	var errs field.ErrorList
	if a := r.Spec.ResourceAttributes; a != nil && a.Namespace != r.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), a.Namespace, "must match metadata.namespace"))
	}
	if a := r.Spec.NonResourceAttributes; a != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec.nonResourceAttributes"), a, "disallowed on this kind of request"))
	}
	return errs
}

func (c *call) reviewRules(obj Object) (*Response, error) {
	r := obj.(*authorizationv1.SelfSubjectRulesReview)
	if r.Spec.Namespace == "" {
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	if err := c.validateByHooks(admission.Create, obj, nil); err != nil {
		return nil, err
	}
	out := &authorizationv1.SelfSubjectRulesReview{}
	out.Status.ResourceRules, out.Status.NonResourceRules = []authorizationv1.ResourceRule{}, []authorizationv1.NonResourceRule{}
	rules, complete, err := c.rulesOf(c.caller(), r.Spec.Namespace)
	out.Status.Incomplete = !complete
	if err != nil {
		out.Status.EvaluationError = err.Error()
	}
	for _, rule := range rules {
		if len(rule.Resources) > 0 {
			out.Status.ResourceRules = append(out.Status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			out.Status.NonResourceRules = append(out.Status.NonResourceRules, authorizationv1.NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
	}
	return c.reviewed(out.DeepCopy())
}

// rulesOf returns the rules of a user, as far as they can be listed.
func (c *call) rulesOf(u *User, namespace string) (rules []rbacv1.PolicyRule, complete bool, err error) {
	switch by := c.store.opts.Authorizer.(type) {
	case nil:
		return everything, true, nil
	case *authz.RBAC:
		rules, err = by.RulesFor(u, namespace)
		return rules, true, err
	default:
		return nil, false, errors.New("the authorizer does not list its rules")
	}
}
