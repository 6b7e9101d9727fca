package admission_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

func TestMatch(t *testing.T) {
	labelled := func(s string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": s}}}
	}
	review := func(resource, sub string) *admission.Review {
		return &admission.Review{
			Operation: admission.Update, Resource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Subresource: sub,
			Namespace: "x", Object: labelled("new"), Old: labelled("old"),
		}
	}
	app := func(s string) labels.Selector { return labels.SelectorFromSet(labels.Set{"app": s}) }
	for _, c := range []struct {
		name   string
		change func(*admission.Match)
		review *admission.Review
		want   bool
	}{
		{"resource", func(*admission.Match) {}, review("pods", ""), true},
		{"another resource", func(*admission.Match) {}, review("services", ""), false},
		{"its subresource", func(*admission.Match) {}, review("pods", "status"), false},
		{"a subresource", func(m *admission.Match) { m.Resources = []string{"pods/status"} }, review("pods", "status"), true},
		{"a subresource is not its resource", func(m *admission.Match) { m.Resources = []string{"pods/status"} }, review("pods", ""), false},
		{"all resources", func(m *admission.Match) { m.Resources = []string{"*"} }, review("pods", ""), true},
		{"all resources, no subresources", func(m *admission.Match) { m.Resources = []string{"*"} }, review("pods", "status"), false},
		{"everything", func(m *admission.Match) { m.Resources = []string{"*/*"} }, review("pods", "status"), true},
		{"another operation", func(m *admission.Match) { m.Operations = []admission.Operation{admission.Create} }, review("pods", ""), false},
		{"another group", func(m *admission.Match) { m.Groups = []string{"apps"} }, review("pods", ""), false},
		{"another version", func(m *admission.Match) { m.Versions = []string{"v2"} }, review("pods", ""), false},
		{"labels after", func(m *admission.Match) { m.Objects = app("new") }, review("pods", ""), true},
		{"labels before", func(m *admission.Match) { m.Objects = app("old") }, review("pods", ""), true},
		{"other labels", func(m *admission.Match) { m.Objects = app("other") }, review("pods", ""), false},
		{"namespace", func(m *admission.Match) { m.Namespaces = app("ns") }, review("pods", ""), true},
		{"another namespace", func(m *admission.Match) { m.Namespaces = app("other") }, review("pods", ""), false},
		{"no namespace", func(m *admission.Match) { m.Namespaces, m.Resources = app("other"), []string{"*"} }, func() *admission.Review {
			r := review("nodes", "")
			r.Namespace = ""
			return r
		}(), true},
	} {
		m := admission.Match{
			Operations: []admission.Operation{"*"}, Groups: []string{""}, Versions: []string{"*"}, Resources: []string{"pods"},
		}
		c.change(&m)
		var chain admission.Chain
		chain.Add(admission.Hook{Name: "h", Match: m, Mutate: func(*admission.Review) admission.Answer { return admission.Answer{} }})
		mutation := chain.Mutate()
		err := mutation.Round(c.review, admission.Env{Namespace: func() labels.Set { return labels.Set{"app": "ns"} }})
		if err != nil || mutation.Asked != c.want {
			t.Errorf("%s: asked %v, %v, want %v", c.name, mutation.Asked, err, c.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	match := admission.Match{Operations: []admission.Operation{"*"}, Groups: []string{"*"}, Versions: []string{"*"}, Resources: []string{"*"}}
	down := admission.Answer{Err: errors.New("connection refused")}
	for _, c := range []struct {
		name   string
		answer admission.Answer
		ignore bool
		code   int32
		text   string
	}{
		{name: "allowed"},
		{"controller-runtime", admission.Deny("no"), false, 403, `admission webhook "h" denied the request: no`},
		{"no code", admission.Answer{Denied: true, Status: metav1.Status{Message: "no"}}, false, 400, `admission webhook "h" denied the request: no`},
		{"only a reason", admission.Answer{Denied: true, Status: metav1.Status{Reason: "Because"}}, false, 400, `admission webhook "h" denied the request: Because`},
		{"nothing", admission.Answer{Denied: true}, false, 400, `admission webhook "h" denied the request without explanation`},
		{"down", down, false, 500, `Internal error occurred: failed calling webhook "h": failed to call webhook: connection refused`},
		{"down and ignored", down, true, 0, ""},
		{"late", admission.TimedOut("https://127.0.0.1:8443/slow", 1), false, 500,
			`Internal error occurred: failed calling webhook "h": failed to call webhook: Post "https://127.0.0.1:8443/slow?timeout=1s": context deadline exceeded`},
		{"late and ignored", admission.TimedOut("https://127.0.0.1:8443/slow", 1), true, 0, ""},
	} {
		var chain admission.Chain
		chain.Add(admission.Hook{Name: "first", Match: match, Validate: func(*admission.Review) admission.Answer {
			return admission.Answer{Warnings: []string{"careful"}}
		}})
		chain.Add(admission.Hook{Name: "h", Match: match, Ignore: c.ignore, Validate: func(*admission.Review) admission.Answer { return c.answer }})
		warnings, err := chain.Validate(&admission.Review{Operation: admission.Create}, admission.Env{})
		if len(warnings) != 1 || warnings[0] != "careful" {
			t.Errorf("%s: warnings %q", c.name, warnings)
		}
		if c.code == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var status apierrors.APIStatus
		if !errors.As(err, &status) || status.Status().Code != c.code || err.Error() != c.text {
			t.Errorf("%s: got %v, want %d %s", c.name, err, c.code, c.text)
		}
	}
}

// TestReinvocation has the calls that a kube-apiserver v1.37.2 makes.
func TestReinvocation(t *testing.T) {
	match := admission.Match{Operations: []admission.Operation{"*"}, Groups: []string{"*"}, Versions: []string{"*"}, Resources: []string{"*"}}
	type hook struct {
		key    string // of the data that it appends to, or sets; empty: it changes nothing
		sets   bool
		policy bool
	}
	for _, c := range []struct {
		hooks []hook
		calls string
	}{
		{[]hook{{"p", false, true}, {"q", false, false}}, "pqp"},
		{[]hook{{"p", false, true}, {"q", false, true}}, "pqpq"},
		{[]hook{{"p", false, false}, {"q", false, true}}, "pq"},
		{[]hook{{"p", false, true}, {"q", true, true}, {"r", false, true}}, "pqrpqr"},
		{[]hook{{"p", false, true}}, "p"},
		{[]hook{{"p", false, true}, {"", false, false}}, "p-"},
		{[]hook{{"p", true, true}, {"q", true, true}, {"r", true, false}}, "pqrpq"},
	} {
		var chain admission.Chain
		calls := ""
		for _, h := range c.hooks {
			chain.Add(admission.Hook{Name: "h", Match: match, Reinvoke: h.policy, Mutate: func(r *admission.Review) admission.Answer {
				data := r.Object.(*corev1.ConfigMap).Data
				switch {
				case h.key == "":
					calls += "-"
					return admission.Answer{}
				case h.sets:
					data[h.key] = "1"
				default:
					data[h.key] += "x"
				}
				calls += h.key
				return admission.Answer{}
			}})
		}
		m := chain.Mutate()
		r := &admission.Review{Operation: admission.Create, Object: &corev1.ConfigMap{Data: map[string]string{"a": "1"}}}
		for range 2 {
			if err := m.Round(r, admission.Env{}); err != nil {
				t.Fatal(err)
			}
			if !m.Again() {
				break
			}
		}
		if calls != c.calls {
			t.Errorf("%v: called %s, want %s", c.hooks, calls, c.calls)
		}
	}
}

// TestAllValidatingHooksAreAsked, also when one has refused.
func TestAllValidatingHooksAreAsked(t *testing.T) {
	match := admission.Match{Operations: []admission.Operation{"*"}, Groups: []string{"*"}, Versions: []string{"*"}, Resources: []string{"*"}}
	var chain admission.Chain
	calls := ""
	for _, name := range []string{"a", "b"} {
		chain.Add(admission.Hook{Name: name, Match: match, Validate: func(*admission.Review) admission.Answer {
			calls += name
			return admission.Deny("no")
		}})
	}
	_, err := chain.Validate(&admission.Review{Operation: admission.Create}, admission.Env{})
	if calls != "ab" || err == nil || err.Error() != `admission webhook "a" denied the request: no` {
		t.Errorf("called %s: %v", calls, err)
	}
}
