package registry

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validation of limit ranges and resource quotas, and the names of resources.

func validateLimitRange(r *corev1.LimitRange) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.LimitType]bool{}
	for i := range r.Spec.Limits {
		l, p := &r.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		errs = append(errs, limitType(l.Type, p.Child("type"))...)
		if seen[l.Type] {
			errs = append(errs, field.Duplicate(p.Child("type"), l.Type))
		}
		seen[l.Type] = true
		errs = append(errs, limitNames(l, p)...)
		if l.Type == corev1.LimitTypePersistentVolumeClaim {
			_, least := l.Min[corev1.ResourceStorage]
			if _, most := l.Max[corev1.ResourceStorage]; !least && !most {
				errs = append(errs, field.Required(p.Child("limits"), "either minimum or maximum storage value is required, but neither was provided"))
			}
		}
		errs = append(errs, limitOrder(l, p)...)
	}
	return errs
}

func limitType(t corev1.LimitType, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsQualifiedName(string(t)) {
		errs = append(errs, field.Invalid(p, t, msg))
	}
	if len(errs) == 0 && !strings.Contains(string(t), "/") &&
		!slices.Contains([]corev1.LimitType{corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim}, t) {
		errs = append(errs, field.Invalid(p, t, "must be a standard limit type or fully qualified"))
	}
	return errs
}

// limitNames checks of what there are limits.
func limitNames(l *corev1.LimitRangeItem, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		name string
		of   corev1.ResourceList
	}{{"max", l.Max}, {"min", l.Min}, {"default", l.Default}, {"defaultRequest", l.DefaultRequest}, {"maxLimitRequestRatio", l.MaxLimitRequestRatio}} {
		if l.Type == corev1.LimitTypePod && strings.HasPrefix(list.name, "default") {
			if len(list.of) > 0 {
				errs = append(errs, field.Forbidden(p.Child(list.name), "may not be specified when `type` is 'Pod'"))
			}
			continue
		}
		for _, name := range sortedKeys(list.of) {
			at := p.Child(list.name).Key(string(name))
			errs = append(errs, resourceName(name, at)...)
			if l.Type == corev1.LimitTypePod || l.Type == corev1.LimitTypeContainer {
				errs = append(errs, containerResource(name, at)...)
			}
		}
	}
	return errs
}

// limitOrder checks that min <= defaultRequest <= default <= max.
func limitOrder(l *corev1.LimitRangeItem, p *field.Path) field.ErrorList {
	names := map[corev1.ResourceName]bool{}
	for _, list := range []corev1.ResourceList{l.Max, l.Min, l.Default, l.DefaultRequest, l.MaxLimitRequestRatio} {
		for name := range list {
			names[name] = true
		}
	}
	type side struct {
		field, what string
		list        corev1.ResourceList
	}
	least, most := side{"min", "min value", l.Min}, side{"max", "max value", l.Max}
	request, limit := side{"defaultRequest", "default request value", l.DefaultRequest}, side{"default", "default limit value", l.Default}
	if l.Type == corev1.LimitTypePod {
		request.list, limit.list = nil, nil
	}
	var errs field.ErrorList
	for _, name := range sortedKeys(names) {
		check := func(low, high side, told string, at string) {
			a, inLow := low.list[name]
			b, inHigh := high.list[name]
			if !inLow || !inHigh || a.Cmp(b) <= 0 {
				return
			}
			shown := map[bool]resource.Quantity{true: a, false: b}[told == low.field]
			errs = append(errs, field.Invalid(p.Child(at).Key(string(name)), shown.String(), fmt.Sprintf("%s %s is greater than %s %s", low.what, a.String(), high.what, b.String())))
		}
		check(least, most, "min", "min")
		check(least, request, "defaultRequest", "defaultRequest")
		check(request, most, "defaultRequest", "defaultRequest")
		check(request, limit, "defaultRequest", "defaultRequest")
		value := limit
		value.what = "default value"
		check(least, value, "min", "default")
		check(value, most, "max", "default")
		errs = append(errs, limitRatio(l, name, p.Child("maxLimitRequestRatio").Key(string(name)))...)
	}
	return errs
}

func limitRatio(l *corev1.LimitRangeItem, name corev1.ResourceName, p *field.Path) field.ErrorList {
	ratio, ok := l.MaxLimitRequestRatio[name]
	if !ok {
		return nil
	}
	var errs field.ErrorList
	if ratio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
		errs = append(errs, field.Invalid(p, ratio.String(), fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	}
	least, low := l.Min[name]
	most, high := l.Max[name]
	if low && high {
		if possible := float64(most.MilliValue()) / float64(least.MilliValue()); float64(ratio.MilliValue())/1000 > possible {
			errs = append(errs, field.Invalid(p, ratio.String(), fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), possible)))
		}
	}
	return errs
}

// counted are the resources of which there are only whole ones.
var counted = map[corev1.ResourceName]bool{
	corev1.ResourcePods: true, corev1.ResourceQuotas: true, corev1.ResourceServices: true, corev1.ResourceReplicationControllers: true,
	corev1.ResourceSecrets: true, corev1.ResourceConfigMaps: true, corev1.ResourcePersistentVolumeClaims: true,
	corev1.ResourceServicesNodePorts: true, corev1.ResourceServicesLoadBalancers: true,
}

// measured are those of which quotas count the amount.
var measured = map[corev1.ResourceName]bool{
	corev1.ResourceCPU: true, corev1.ResourceMemory: true, corev1.ResourceEphemeralStorage: true,
	corev1.ResourceRequestsCPU: true, corev1.ResourceRequestsMemory: true, corev1.ResourceRequestsStorage: true, corev1.ResourceRequestsEphemeralStorage: true,
	corev1.ResourceLimitsCPU: true, corev1.ResourceLimitsMemory: true, corev1.ResourceLimitsEphemeralStorage: true,
}

func hugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

func resourceName(name corev1.ResourceName, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsQualifiedName(string(name)) {
		errs = append(errs, field.Invalid(p, name, msg))
	}
	if len(errs) == 0 && !strings.Contains(string(name), "/") && !counted[name] && !measured[name] && name != corev1.ResourceStorage && !hugePages(name) {
		errs = append(errs, field.Invalid(p, name, "must be a standard resource type or fully qualified"))
	}
	return errs
}

// containerResource checks that a container may ask for the resource.
func containerResource(name corev1.ResourceName, p *field.Path) field.ErrorList {
	switch {
	case !strings.Contains(string(name), "/"):
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			return field.ErrorList{field.Invalid(p, name, "must be a standard resource for containers")}
		}
	case !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix):
		if strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) || len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) > 0 {
			return field.ErrorList{field.Invalid(p, name, "doesn't follow extended resource name standard")}
		}
	}
	return nil
}

func validateQuota(q *corev1.ResourceQuota) field.ErrorList {
	p := field.NewPath("spec")
	errs := quotaAmounts(q.Spec.Hard, p.Child("hard"))
	errs = append(errs, quotaScopes(&q.Spec, p.Child("scopes"))...)
	if q.Spec.ScopeSelector != nil {
		errs = append(errs, quotaSelector(&q.Spec, p.Child("scopeSelector", "matchExpressions"))...)
	}
	return errs
}

func quotaSelector(s *corev1.ResourceQuotaSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.ResourceQuotaScope]bool{}
	for _, r := range s.ScopeSelector.MatchExpressions {
		of := scopeOf(r.ScopeName)
		if of == nil {
			errs = append(errs, field.Invalid(p.Child("scopeName"), r.ScopeName, "unsupported scope"))
		}
		for _, name := range sortedKeys(s.Hard) {
			if of != nil && (counted[name] || measured[name] || hugePages(name)) && !slices.Contains(of, name) {
				errs = append(errs, field.Invalid(p, s.ScopeSelector, "unsupported scope applied to resource"))
			}
		}
		if r.ScopeName != corev1.ResourceQuotaScopePriorityClass && r.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass && of != nil && r.Operator != corev1.ScopeSelectorOpExists {
			errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "+
				"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
		}
		switch r.Operator {
		case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
			if len(r.Values) == 0 {
				errs = append(errs, field.Required(p.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
			}
		case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
			if len(r.Values) != 0 {
				errs = append(errs, field.Invalid(p.Child("values"), r.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
			}
		default:
			errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator"))
		}
		seen[r.ScopeName] = true
	}
	if seen[corev1.ResourceQuotaScopeBestEffort] && seen[corev1.ResourceQuotaScopeNotBestEffort] ||
		seen[corev1.ResourceQuotaScopeTerminating] && seen[corev1.ResourceQuotaScopeNotTerminating] {
		errs = append(errs, field.Invalid(p, s.Scopes, "conflicting scopes"))
	}
	return errs
}

func validateQuotaChange(q, was *corev1.ResourceQuota) field.ErrorList {
	errs := validateQuota(q)
	a, b := slices.Clone(q.Spec.Scopes), slices.Clone(was.Spec.Scopes)
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(slices.Compact(a), slices.Compact(b)) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "scopes"), q.Spec.Scopes, "field is immutable"))
	}
	return errs
}

func validateQuotaStatus(_ *Context, obj, _ Object) field.ErrorList {
	s, p := &obj.(*corev1.ResourceQuota).Status, field.NewPath("status")
	return append(quotaAmounts(s.Hard, p.Child("hard")), quotaAmounts(s.Used, p.Child("used"))...)
}

func quotaAmounts(list corev1.ResourceList, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedKeys(list) {
		at, q := p.Key(string(name)), list[name]
		errs = append(errs, resourceName(name, at)...)
		if !strings.Contains(string(name), "/") && !counted[name] && !measured[name] && !hugePages(name) {
			errs = append(errs, field.Invalid(at, name, "must be a standard resource for quota"))
		}
		if q.Sign() < 0 {
			errs = append(errs, field.Invalid(at, q.String(), "must be greater than or equal to 0"))
		}
		if counted[name] && q.MilliValue()%1000 != 0 {
			errs = append(errs, field.Invalid(at, q, "must be an integer"))
		}
	}
	return errs
}

func quotaScopes(s *corev1.ResourceQuotaSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	refuse := func(why string) { errs = append(errs, field.Invalid(p, s.Scopes, why)) }
	for _, scope := range s.Scopes {
		of := scopeOf(scope)
		if of == nil {
			refuse("unsupported scope")
			continue
		}
		for _, name := range sortedKeys(s.Hard) {
			if (counted[name] || measured[name] || hugePages(name)) && !slices.Contains(of, name) {
				refuse("unsupported scope applied to resource")
			}
		}
	}
	has := func(scope corev1.ResourceQuotaScope) bool { return slices.Contains(s.Scopes, scope) }
	if has(corev1.ResourceQuotaScopeBestEffort) && has(corev1.ResourceQuotaScopeNotBestEffort) {
		refuse("conflicting scopes")
	}
	if has(corev1.ResourceQuotaScopeTerminating) && has(corev1.ResourceQuotaScopeNotTerminating) {
		refuse("conflicting scopes")
	}
	return errs
}

// scopeOf returns what a quota with the scope may count, or nil if there is no such
// scope.
func scopeOf(scope corev1.ResourceQuotaScope) []corev1.ResourceName {
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		return []corev1.ResourceName{corev1.ResourcePods}
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return []corev1.ResourceName{
			corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
			corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
		}
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}
	default:
		return nil
	}
}
