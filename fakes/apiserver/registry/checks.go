package registry

import (
	"sort"
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Checks that several kinds share.

// sorted puts errors that were found in the order of a map into one that does
// not change from run to run.
func sorted(errs field.ErrorList) field.ErrorList {
	sort.SliceStable(errs, func(i, j int) bool { return errs[i].Field < errs[j].Field })
	return errs
}

// dataKey checks a key of a ConfigMap or Secret.
func dataKey(p *field.Path, key string) field.ErrorList {
	if len(key) < 100 && key != "" && key[0] != '.' && plainData(key) {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range validation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(p.Key(key), key, msg))
	}
	return errs
}

func plainData(s string) bool {
	for i := range len(s) {
		if c := s[i]; !alnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func nonNegative(v int32, p *field.Path) field.ErrorList {
	if v >= 0 {
		return nil
	}
	return apivalidation.ValidateNonnegativeField(int64(v), p)
}

func optionalNonNegative(v *int32, p *field.Path) field.ErrorList {
	if v == nil {
		return nil
	}
	return nonNegative(*v, p)
}

func dnsLabel(value string, p *field.Path) field.ErrorList {
	if plainName(value) {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Label(value) {
		errs = append(errs, field.Invalid(p, value, msg))
	}
	return errs
}

func labelMap(m map[string]string, p *field.Path) field.ErrorList {
	for k, v := range m {
		if !plainKey(k) || !plainValue(v) {
			return sorted(unversioned.ValidateLabels(m, p))
		}
	}
	return nil
}

// numberOrPercent checks a number of pods, or a share of them.
func numberOrPercent(v *intstr.IntOrString, p *field.Path) field.ErrorList {
	if v == nil {
		return nil
	}
	if v.Type == intstr.Int {
		return nonNegative(v.IntVal, p)
	}
	var errs field.ErrorList
	for _, msg := range validation.IsValidPercent(v.StrVal) {
		errs = append(errs, field.Invalid(p, *v, msg))
	}
	return errs
}

// shareOfPods is numberOrPercent for what cannot be more than all.
func shareOfPods(v *intstr.IntOrString, p *field.Path) field.ErrorList {
	errs := numberOrPercent(v, p)
	if n, ok := percentage(v); ok && n > 100 {
		errs = append(errs, field.Invalid(p, *v, "must not be greater than 100%"))
	}
	return errs
}

// percentage is the number before the sign, if that is what v is.
func percentage(v *intstr.IntOrString) (int, bool) {
	if v == nil || v.Type != intstr.String || len(validation.IsValidPercent(v.StrVal)) > 0 {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	return n, err == nil
}

// none reports whether v is no pods at all.
func none(v *intstr.IntOrString) bool {
	n, ok := percentage(v)
	if !ok {
		n = v.IntValue()
	}
	return n == 0
}

// templateSelector checks a workload's selector and that it selects the pods of
// the template.
func templateSelector(sel *metav1.LabelSelector, podLabels map[string]string, spec *field.Path, owner string) field.ErrorList {
	var errs field.ErrorList
	p := spec.Child("selector")
	if sel == nil {
		errs = append(errs, field.Required(p, ""))
	} else {
		errs = append(errs, unversioned.ValidateLabelSelector(sel, unversioned.LabelSelectorValidationOptions{}, p)...)
		if len(sel.MatchLabels)+len(sel.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(p, sel, "empty selector is invalid for "+owner))
		}
	}
	if !selects(sel, podLabels) {
		errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"), podLabels, "`selector` does not match template `labels`"))
	}
	return errs
}

func selects(sel *metav1.LabelSelector, set map[string]string) bool {
	if sel == nil {
		return false
	}
	for k, v := range sel.MatchLabels {
		if w, ok := set[k]; !ok || w != v {
			return false
		}
	}
	if len(sel.MatchExpressions) == 0 {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(sel)
	return err == nil && s.Matches(labels.Set(set))
}

// fixedSelector checks that a workload's selector has not changed.
func fixedSelector(sel, was *metav1.LabelSelector) field.ErrorList {
	return fixed(sel, was, field.NewPath("spec", "selector"))
}
