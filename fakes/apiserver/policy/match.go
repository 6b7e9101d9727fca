package policy

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
)

// matches reports whether a policy or binding is about the request, and in which
// version of its resource.
func (r *request) matches(m *admissionv1.MatchResources) (resource schema.GroupVersionResource, kind schema.GroupVersionKind, ok bool, err error) {
	if m == nil {
		return resource, kind, false, fmt.Errorf("policy contained no match constraints, a required field")
	}
	inNamespace, err := r.selectsNamespace(m.NamespaceSelector)
	if err != nil || !inNamespace {
		return resource, kind, false, err
	}
	selected, err := r.selectsObject(m.ObjectSelector)
	if err != nil || !selected {
		return resource, kind, false, err
	}
	if _, _, excluded := r.rule(m.ExcludeResourceRules, m.MatchPolicy); excluded {
		return resource, kind, false, nil
	}
	if len(m.ResourceRules) == 0 {
		return r.GetResource(), r.GetKind(), true, nil
	}
	resource, kind, ok = r.rule(m.ResourceRules, m.MatchPolicy)
	return resource, kind, ok, nil
}

func (r *request) selectsNamespace(s *metav1.LabelSelector) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || selector.Empty() {
		return err == nil, err
	}
	if r.GetResource().Group == "" && r.GetResource().Resource == "namespaces" {
		obj := r.GetObject()
		if r.GetOperation() == admission.Delete || r.GetSubresource() != "" || obj == nil {
			return selector.Matches(labels.Set(r.source.Namespace(r.GetName()).Labels)), nil
		}
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return false, err
		}
		return selector.Matches(labels.Set(accessor.GetLabels())), nil
	}
	if r.GetNamespace() == "" {
		return true, nil
	}
	return selector.Matches(labels.Set(r.source.Namespace(r.GetNamespace()).Labels)), nil
}

func (r *request) selectsObject(s *metav1.LabelSelector) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || selector.Empty() {
		return err == nil, err
	}
	return selects(selector, r.GetObject()) || selects(selector, r.GetOldObject()), nil
}

func selects(s labels.Selector, obj runtime.Object) bool {
	if obj == nil {
		return false
	}
	accessor, err := meta.Accessor(obj)
	return err == nil && s.Matches(labels.Set(accessor.GetLabels()))
}

// rule finds a rule for the request, or for another version of its resource.
func (r *request) rule(list []admissionv1.NamedRuleWithOperations, policy *admissionv1.MatchPolicyType) (schema.GroupVersionResource, schema.GroupVersionKind, bool) {
	if r.anyRule(list, r.Attributes) {
		return r.GetResource(), r.GetKind(), true
	}
	if policy != nil && *policy == admissionv1.Equivalent {
		for _, e := range r.source.Equivalents(r.GetResource()) {
			if r.anyRule(list, &elsewhere{r.Attributes, e.Resource}) {
				return e.Resource, e.Kind, true
			}
		}
	}
	return schema.GroupVersionResource{}, schema.GroupVersionKind{}, false
}

func (r *request) anyRule(list []admissionv1.NamedRuleWithOperations, a admission.Attributes) bool {
	for i := range list {
		m := rules.Matcher{Rule: list[i].RuleWithOperations, Attr: a}
		if !m.Matches() {
			continue
		}
		if len(list[i].ResourceNames) == 0 {
			return true
		}
		for _, name := range list[i].ResourceNames {
			if name == a.GetName() {
				return true
			}
		}
	}
	return false
}

// elsewhere is a request as if it had been made to another version.
type elsewhere struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

func (e *elsewhere) GetResource() schema.GroupVersionResource { return e.resource }
