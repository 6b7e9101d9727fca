package registry

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Names of RBAC objects may hold anything that fits into a path.
func pathName(name string, prefix bool) []string {
	if prefix {
		return path.IsValidPathSegmentPrefix(name)
	}
	return path.IsValidPathSegmentName(name)
}

var roles = &Kind{
	GroupVersionKind: rbacv1.SchemeGroupVersion.WithKind("Role"),
	Names:            Names{Plural: "roles"},
	Prototype:        &rbacv1.Role{},
	Naming:           pathName,
	Write:            WriteRules{PutCreates: true},
	Validate:         func(_ *Context, obj Object) field.ErrorList { return validateRules(obj.(*rbacv1.Role).Rules, true) },
	ValidateUpdate:   func(_ *Context, obj, _ Object) field.ErrorList { return validateRules(obj.(*rbacv1.Role).Rules, true) },
}

var clusterRoles = &Kind{
	GroupVersionKind: rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
	Names:            Names{Plural: "clusterroles"},
	Cluster:          true,
	Prototype:        &rbacv1.ClusterRole{},
	Naming:           pathName,
	Write:            WriteRules{PutCreates: true},
	Validate:         func(_ *Context, obj Object) field.ErrorList { return validateClusterRole(obj.(*rbacv1.ClusterRole)) },
	ValidateUpdate:   func(_ *Context, obj, _ Object) field.ErrorList { return validateClusterRole(obj.(*rbacv1.ClusterRole)) },
}

func validateClusterRole(r *rbacv1.ClusterRole) field.ErrorList {
	errs := validateRules(r.Rules, false)
	if r.AggregationRule == nil {
		return errs
	}
	p := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(p, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		s, at := &r.AggregationRule.ClusterRoleSelectors[i], p.Index(i)
		errs = append(errs, unversioned.ValidateLabelSelector(s, unversioned.LabelSelectorValidationOptions{}, at)...)
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			errs = append(errs, field.Invalid(at, selector, "invalid label selector."))
		}
	}
	return errs
}

func validateRules(rules []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i := range rules {
		r, p := &rules[i], field.NewPath("rules").Index(i)
		if len(r.Verbs) == 0 {
			errs = append(errs, field.Required(p.Child("verbs"), ""))
		}
		if len(r.NonResourceURLs) > 0 {
			if namespaced {
				errs = append(errs, field.Invalid(p.Child("nonResourceURLs"), r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			}
			if len(r.APIGroups) > 0 || len(r.Resources) > 0 || len(r.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(p.Child("nonResourceURLs"), r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		if len(r.APIGroups) == 0 {
			errs = append(errs, field.Required(p.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(r.Resources) == 0 {
			errs = append(errs, field.Required(p.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return errs
}

var roleBindings = &Kind{
	GroupVersionKind: rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	Names:            Names{Plural: "rolebindings"},
	Prototype:        &rbacv1.RoleBinding{},
	Naming:           pathName,
	Write:            WriteRules{PutCreates: true},
	Default: func(obj Object) {
		b := obj.(*rbacv1.RoleBinding)
		defaultBinding(&b.RoleRef, b.Subjects)
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		b := obj.(*rbacv1.RoleBinding)
		return validateBinding(&b.RoleRef, b.Subjects, "Role", "ClusterRole")
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		b, was := obj.(*rbacv1.RoleBinding), old.(*rbacv1.RoleBinding)
		return append(validateBinding(&b.RoleRef, b.Subjects, "Role", "ClusterRole"), fixedRole(b.RoleRef, was.RoleRef)...)
	},
}

var clusterRoleBindings = &Kind{
	GroupVersionKind: rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	Names:            Names{Plural: "clusterrolebindings"},
	Cluster:          true,
	Prototype:        &rbacv1.ClusterRoleBinding{},
	Naming:           pathName,
	Write:            WriteRules{PutCreates: true},
	Default: func(obj Object) {
		b := obj.(*rbacv1.ClusterRoleBinding)
		defaultBinding(&b.RoleRef, b.Subjects)
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		b := obj.(*rbacv1.ClusterRoleBinding)
		return validateBinding(&b.RoleRef, b.Subjects, "ClusterRole")
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		b, was := obj.(*rbacv1.ClusterRoleBinding), old.(*rbacv1.ClusterRoleBinding)
		return append(validateBinding(&b.RoleRef, b.Subjects, "ClusterRole"), fixedRole(b.RoleRef, was.RoleRef)...)
	},
}

func fixedRole(ref, was rbacv1.RoleRef) field.ErrorList {
	if ref == was {
		return nil
	}
	shown := struct{ APIGroup, Kind, Name string }{ref.APIGroup, ref.Kind, ref.Name} // as the server's own type is shown
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), shown, apivalidation.FieldImmutableErrorMsg)}
}

func defaultBinding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if ref.APIGroup == "" {
		ref.APIGroup = rbacv1.GroupName
	}
	for i := range subjects {
		if s := &subjects[i]; s.APIGroup == "" && s.Kind != rbacv1.ServiceAccountKind {
			s.APIGroup = rbacv1.GroupName
		}
	}
}

func validateBinding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject, kinds ...string) field.ErrorList {
	p := field.NewPath("roleRef")
	var errs field.ErrorList
	if ref.APIGroup != rbacv1.GroupName {
		errs = append(errs, field.NotSupported(p.Child("apiGroup"), ref.APIGroup, []string{rbacv1.GroupName}))
	}
	if !contains(kinds, ref.Kind) {
		errs = append(errs, field.NotSupported(p.Child("kind"), ref.Kind, kinds))
	}
	if ref.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), ""))
	}
	for _, msg := range pathName(ref.Name, false) {
		errs = append(errs, field.Invalid(p.Child("name"), ref.Name, msg))
	}
	for i := range subjects {
		s, at := &subjects[i], field.NewPath("subjects").Index(i)
		if s.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		group := rbacv1.GroupName
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			group = ""
			if s.Name != "" && !plainSubdomain(s.Name) {
				for _, msg := range apivalidation.ValidateServiceAccountName(s.Name, false) {
					errs = append(errs, field.Invalid(at.Child("name"), s.Name, msg))
				}
			}
			if s.Namespace == "" && len(kinds) == 1 {
				errs = append(errs, field.Required(at.Child("namespace"), ""))
			}
		case rbacv1.UserKind, rbacv1.GroupKind:
		default:
			group = s.APIGroup
			errs = append(errs, field.NotSupported(at.Child("kind"), s.Kind, []string{"ServiceAccount", "User", "Group"}))
		}
		if s.APIGroup != group {
			errs = append(errs, field.NotSupported(at.Child("apiGroup"), s.APIGroup, []string{group}))
		}
	}
	return errs
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
