package protected

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

// Enabled reports whether a Secret is to be protected: its label says so or, if it has
// none, its annotation.
func Enabled(s *corev1.Secret) bool {
	if value, ok := s.Labels[cloak.AnnotationSecretEnabled]; ok {
		return value == "true"
	}
	return s.Annotations[cloak.AnnotationSecretEnabled] == "true"
}

// Reason says in one word what is wrong with a Secret. Events and conditions have it.
type Reason string

// What can be wrong with a Secret.
const (
	InvalidHosts  Reason = "InvalidHosts"
	InvalidPort   Reason = "InvalidPort"
	RuleInLabel   Reason = "RuleInLabel"
	IsShadow      Reason = "IsShadow"
	NameTooLong   Reason = "NameTooLong"
	ValueTooShort Reason = "ValueTooShort"
	ValueTooLong  Reason = "ValueTooLong"
	ValueNotText  Reason = "ValueNotText"
	ValueMix      Reason = "ValueMix"
)

// Defect is one thing that is wrong.
type Defect struct {
	Reason  Reason
	Field   string // such as data[password]
	Message string // what to write instead; nothing of a value is in it
}

// String is the text of events, conditions and refusals.
func (d Defect) String() string { return d.Field + ": " + d.Message }

// Report is what Inspect found.
type Report struct {
	// Rule is where the values may go. It permits nothing if anything is wrong with it.
	Rule policy.Rule

	// Rules are the defects of the rule: the Secret is not usable until they are mended.
	Rules []Defect

	// Values are defects of the Secret and its values: there can be no shadow.
	Values []Defect

	// Raw are the keys whose placeholders are good outside of HPACK only, which the Secret
	// agrees to.
	Raw []string
}

// Defects are all of them.
func (r *Report) Defects() []Defect { return append(slices.Clone(r.Rules), r.Values...) }

// Inspect reads what a Secret asks for. It does not look at whether it is enabled.
func Inspect(s *corev1.Secret) Report {
	var r Report
	r.readRule(s)
	if s.Labels[cloak.LabelManaged] == "true" {
		r.value(IsShadow, "labels["+cloak.LabelManaged+"]", "this Secret holds the placeholders of another; enable that one")
	}
	// A label, which has the name of its owner, cannot be as long as a name.
	if n := len(s.Name); n > validation.LabelValueMaxLength {
		r.value(NameTooLong, "metadata.name", fmt.Sprintf("the name has %d characters and may have %d at most, since it becomes a label",
			n, validation.LabelValueMaxLength))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		err := placeholder.Check(s.Data[key])
		if errors.Is(err, placeholder.ErrMix) && s.Annotations[cloak.AnnotationHTTP] == "1.1" {
			r.Raw = append(r.Raw, key)
			continue
		}
		if err != nil {
			r.value(reasonOf(err), "data["+key+"]", err.Error())
		}
	}
	return r
}

func (r *Report) readRule(s *corev1.Secret) {
	for _, name := range []string{cloak.AnnotationHosts, cloak.AnnotationPort} {
		if _, ok := s.Labels[name]; ok {
			r.rule(RuleInLabel, "labels["+name+"]", "write an annotation in place of the label")
		}
	}
	hosts, err := policy.ParseHosts(s.Annotations[cloak.AnnotationHosts])
	if err != nil {
		r.rule(InvalidHosts, "annotations["+cloak.AnnotationHosts+"]", err.Error())
	}
	port, err := policy.ParsePort(s.Annotations[cloak.AnnotationPort])
	if err != nil {
		r.rule(InvalidPort, "annotations["+cloak.AnnotationPort+"]", err.Error())
	}
	if len(r.Rules) == 0 {
		r.Rule = policy.Rule{Hosts: hosts, Port: port}
	}
}

func (r *Report) rule(reason Reason, field, message string) {
	r.Rules = append(r.Rules, Defect{reason, field, message})
}

func (r *Report) value(reason Reason, field, message string) {
	r.Values = append(r.Values, Defect{reason, field, message})
}

func reasonOf(err error) Reason {
	switch {
	case errors.Is(err, placeholder.ErrTooShort):
		return ValueTooShort
	case errors.Is(err, placeholder.ErrTooLong):
		return ValueTooLong
	case errors.Is(err, placeholder.ErrNotText):
		return ValueNotText
	}
	return ValueMix
}

// Text says all defects in one message, for a person to mend them at once.
func Text(defects []Defect) string {
	texts := make([]string, len(defects))
	for i, d := range defects {
		texts[i] = d.String()
	}
	return strings.Join(texts, "; ")
}
