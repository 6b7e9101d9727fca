package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testNow = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	uidA = "11111111-2222-4333-8444-555555555555"
	uidB = "aaaaaaaa-2222-4333-8444-555555555555"
)

// TestFields compares pairs of want and got, one after the other in one case,
// and expects the differing places.
func TestFields(t *testing.T) {
	type step struct{ want, got, diff string }
	for name, steps := range map[string][]step{
		"equal": {{`{"a": {"b": [1, null, {}]}}`, `{"a": {"b": [1.0, null, {}]}}`, ""}},
		"absent differs from null": {
			{`{"a": "(absent)"}`, `{}`, ""},
			{`{"a": "(absent)"}`, `{"a": null}`, `f["a"]`},
			{`{"a": null}`, `{}`, `f["a"]`},
		},
		"every leaf is named": {{`{"*": {"a": 1, "b": {"c": 2}}}`, `{"b": {"c": 3, "d": 4}}`, `f["*"].a f["*"].b.c f["*"].b.d`}},
		"a symbol keeps its value": {
			{`{"rv": "$rv1", "uid": "$uid1"}`, `{"rv": "5", "uid": "` + uidA + `"}`, ""},
			{`{"rv": "$rv1", "uid": "$uid1"}`, `{"rv": "6", "uid": "` + uidB + `"}`, `f["rv"] f["uid"]`},
		},
		"two symbols never share one": {{`{"a": "$rv1", "b": "$rv2"}`, `{"a": "5", "b": "5"}`, `f["b"]`}},
		"versions are in numeric order": {
			{`{"a": "$rv2"}`, `{"a": "10"}`, ""},
			{`{"a": "$rv1"}`, `{"a": "9"}`, ""},
			{`{"a": "$rv3"}`, `{"a": "9000"}`, ""},
			{`{"a": "$rv4"}`, `{"a": "8999"}`, `f["a"]`},
		},
		"times": {
			{`{"a": "$time"}`, `{"a": "2030-01-02T12:00:00Z"}`, ""},
			{`{"a": "$time"}`, `{"a": "2030-01-01T00:00:00.123456Z"}`, ""},
			{`{"a": "$time"}`, `{"a": "2024-01-01T00:00:00Z"}`, `f["a"]`},
			{`{"a": "$time"}`, `{"a": "soon"}`, `f["a"]`},
		},
		"other symbols": {
			{`{"a": "foo-$rand5"}`, `{"a": "foo-b2zxk"}`, ""},
			{`{"a": "foo-$rand5"}`, `{"a": "foo-aeiou"}`, `f["a"]`},
			{`{"a": "$nodePort"}`, `{"a": 30001}`, ""},
			{`{"a": "$nodePort"}`, `{"a": 80}`, `f["a"]`},
			{`{"a": "$ip"}`, `{"a": "10.0.0.7"}`, ""},
			{`{"a": "$ip"}`, `{"a": "None"}`, `f["a"]`},
		},
		"managed fields are a set": {{
			`{"metadata.managedFields": [{"manager": "b", "time": "$time"}, {"manager": "a"}]}`,
			`{"metadata": {"managedFields": [{"manager": "a"}, {"manager": "b", "time": "2030-01-01T00:00:00Z"}]}}`, "",
		}},
		"other lists are not": {{`{"a": ["x", "y"]}`, `{"a": ["y", "x"]}`, `f["a"][0] f["a"][1]`}},
	} {
		t.Run(name, func(t *testing.T) {
			symbols := newSymbols(testNow)
			for _, s := range steps {
				c := &comparison{symbols: symbols}
				c.fields("f", parseJSON(t, s.want).(map[string]any), parseJSON(t, s.got))
				if diff := cmp.Diff(s.diff, places(c.diffs)); diff != "" {
					t.Errorf("want %s, got %s: places (-want +got):\n%s", s.want, s.got, diff)
				}
			}
		})
	}
}

func places(diffs []Difference) string {
	out := make([]string, len(diffs))
	for i, d := range diffs {
		out[i] = d.Field
	}
	return strings.Join(out, " ")
}

func TestFloorsAreCheckedAtTheEnd(t *testing.T) {
	symbols := newSymbols(testNow)
	c := &comparison{symbols: symbols}
	c.fields("list", map[string]any{"rv": ">=$rv2"}, parseJSON(t, `{"rv": "7"}`))
	c.fields("obj", map[string]any{"rv": "$rv2"}, parseJSON(t, `{"rv": "8"}`))
	if len(c.diffs) != 0 {
		t.Fatalf("differences too early: %v", c.diffs)
	}
	if diff := cmp.Diff(`list["rv"]`, places(symbols.unmet())); diff != "" {
		t.Errorf("unmet (-want +got):\n%s", diff)
	}
}

func TestStatus(t *testing.T) {
	const want = `{"status": "Failure", "code": 422, "reason": "Invalid", "message": "ConfigMap \"a\" is invalid: [$causes]",
		"details": {"kind": "ConfigMap", "name": "a", "causes": [
			{"field": "x", "message": "first", "reason": "FieldValueInvalid"},
			{"field": "y", "message": "second", "reason": "FieldValueRequired"}]}}`
	for name, tc := range map[string]struct{ got, diff string }{
		"other order of causes": {`{"kind": "Status", "metadata": {}, "status": "Failure", "code": 422, "reason": "Invalid",
			"message": "ConfigMap \"a\" is invalid: [y: second, x: first]",
			"details": {"kind": "ConfigMap", "name": "a", "causes": [
				{"field": "y", "message": "second", "reason": "FieldValueRequired"},
				{"field": "x", "message": "first", "reason": "FieldValueInvalid"}]}}`, ""},
		"everything missing": {`{"status": "Failure", "code": 422}`, "s.reason s.message s.details"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &comparison{symbols: newSymbols(testNow)}
			c.status("s", parseJSON(t, want).(map[string]any), parseJSON(t, tc.got))
			if diff := cmp.Diff(tc.diff, places(c.diffs)); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesWithDumpsEndAtTheDump(t *testing.T) {
	c := &comparison{symbols: newSymbols(testNow), dumps: true}
	c.message("m", `spec: Invalid value: {"a":1}: immutable`, `spec: Invalid value: {"A":2}`)
	if len(c.diffs) != 0 {
		t.Errorf("differences: %v", c.diffs)
	}
	c.message("m", `spec: Invalid value: {`, `spec: Forbidden: {`)
	if len(c.diffs) != 1 || !c.diffs[0].Soft {
		t.Errorf("want one soft difference, got %v", c.diffs)
	}
}
