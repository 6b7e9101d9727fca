package protected_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
)

func secret(edit func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Labels: map[string]string{}, Annotations: map[string]string{}},
		Data:       map[string][]byte{"password": []byte("correct-horse")},
	}
	edit(s)
	return s
}

func annotate(key, value string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Annotations[key] = value }
}

func value(v string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Data["password"] = []byte(v) }
}

// Sections 2.1 to 2.3: each rule of annotations and sizes, with its text; and never a
// wider permission, I9.
func TestInspect(t *testing.T) {
	for _, tc := range []struct {
		row  string
		edit func(*corev1.Secret)
		want []string // reason, then the text
	}{
		{"nothing is wrong", func(*corev1.Secret) {}, nil},
		{"hosts and port", func(s *corev1.Secret) {
			s.Annotations[cloak.AnnotationHosts], s.Annotations[cloak.AnnotationPort] = "a.com", "443"
		}, nil},
		{"two hosts", annotate(cloak.AnnotationHosts, "a.com,b.com"), []string{
			"InvalidHosts annotations[getkloak.io/hosts]: not a host: write one host without spaces"}},
		{"an over-long host", annotate(cloak.AnnotationHosts, strings.Repeat("a", 60)+".com"), []string{
			"InvalidHosts annotations[getkloak.io/hosts]: not a host: the name has 64 bytes and may have 63 at most"}},
		{"an invalid port", annotate(cloak.AnnotationPort, "70000"), []string{
			"InvalidPort annotations[getkloak.io/port]: not a port: write a number from 1 to 65535"}},
		{"hosts as a label", func(s *corev1.Secret) { s.Labels[cloak.AnnotationHosts] = "a.com" }, []string{
			"RuleInLabel labels[getkloak.io/hosts]: write an annotation in place of the label"}},
		{"port as a label", func(s *corev1.Secret) { s.Labels[cloak.AnnotationPort] = "443" }, []string{
			"RuleInLabel labels[getkloak.io/port]: write an annotation in place of the label"}},
		{"7 bytes", value("passwd7"), []string{"ValueTooShort data[password]: too short: it has 7 bytes and needs at least 8"}},
		{"8 bytes", value("passwd-8"), nil},
		{"128 bytes", value(strings.Repeat("Pass-w0r", 16)), nil},
		{"129 bytes", value(strings.Repeat("Pass-w0r", 16) + "d"), []string{
			"ValueTooLong data[password]: too long: it has 129 bytes and may have 128 at most"}},
		{"not UTF-8", value("correct-horse\xff"), []string{
			"ValueNotText data[password]: not UTF-8: write it as text, for instance in base64"}},
		{"a mix that cannot be matched", value("!!!!!!!!!!"), []string{
			"ValueMix data[password]: no placeholder has its length in HPACK: its mix of characters has a Huffman code " +
				"that is too short or too long; use letters of both cases and digits"}},
		{"one bad key of two", func(s *corev1.Secret) { s.Data["a"] = []byte("x") }, []string{
			"ValueTooShort data[a]: too short: it has 1 bytes and needs at least 8"}},
		{"no data", func(s *corev1.Secret) { s.Data = nil }, nil},
		{"a shadow", func(s *corev1.Secret) { s.Labels[cloak.LabelManaged] = "true" }, []string{
			"IsShadow labels[getkloak.io/managed]: this Secret holds the placeholders of another; enable that one"}},
		{"a long name", func(s *corev1.Secret) { s.Name = strings.Repeat("n", 64) }, []string{
			"NameTooLong metadata.name: the name has 64 characters and may have 63 at most, since it becomes a label"}},
	} {
		report := protected.Inspect(secret(tc.edit))
		var got []string
		for _, d := range report.Defects() {
			got = append(got, string(d.Reason)+" "+d.String())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.row, diff)
		}
		if len(report.Rules) > 0 && !report.Rule.Equal(policy.Rule{}) {
			t.Errorf("%s: the rule permits %v", tc.row, report.Rule)
		}
	}
}

// Section 2.1, enabled: the label decides, the annotation if there is none.
func TestEnabled(t *testing.T) {
	for _, tc := range []struct {
		label, annotation string
		want              bool
	}{
		{"true", "", true}, {"", "true", true}, {"true", "false", true}, {"false", "true", false}, {"", "", false}, {"True", "", false}, {"", "1", false},
	} {
		s := secret(func(s *corev1.Secret) {
			if tc.label != "" {
				s.Labels[cloak.AnnotationSecretEnabled] = tc.label
			}
			s.Annotations[cloak.AnnotationSecretEnabled] = tc.annotation
		})
		if got := protected.Enabled(s); got != tc.want {
			t.Errorf("label %q, annotation %q: %t", tc.label, tc.annotation, got)
		}
	}
}
