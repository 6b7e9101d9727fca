package crd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// TestRulesCostTooMuch: rules whose estimate passes may still cost too much. When
// all of them together use up the budget, it is chance at which rule a real server
// ends, so the object as a whole is named.
func TestRulesCostTooMuch(t *testing.T) {
	const one = `{rule: 'self.all(x, self.all(y, x != y || x == y))'}`
	for _, c := range []struct {
		items, rules int
		want         string
	}{
		{100, 1, ""},
		{900, 1, `Thing.example.com "a" is invalid: a: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': ` +
			`no further validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, x != y || x == y))`},
		{395, 11, `Thing.example.com "a" is invalid: <nil>: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run`},
	} {
		server := things(t, `{scope: Cluster, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
 a: {type: array, maxItems: 900, items: {type: string, maxLength: 4}, x-kubernetes-validations: [`+strings.Repeat(one+", ", c.rules-1)+one+`]}}}}}]}`)
		u := thing("v1", "a")
		list := make([]any, c.items)
		for i := range list {
			list[i] = fmt.Sprint(i)
		}
		u.Object["a"] = list
		got := ""
		if _, err := server.Do(&apiserver.Request{Verb: apiserver.Create, Resource: stored, Object: u}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d items, %d rules: got %s\nwant %s", c.items, c.rules, got, c.want)
		}
	}
}

// TestFieldsToSelectBy: values are texts, numbers and truths; what is absent is empty.
func TestFieldsToSelectBy(t *testing.T) {
	server := things(t, `{scope: Cluster, versions: [{name: v1, served: true, storage: true, selectableFields: [{jsonPath: .s}, {jsonPath: .deep.i}, {jsonPath: .b}],
 schema: {openAPIV3Schema: {type: object, properties: {s: {type: string}, b: {type: boolean}, deep: {type: object, properties: {i: {type: integer}}}, x: {type: string}}}}}]}`)
	for name, content := range map[string]map[string]any{
		"a": {"s": "x", "deep": map[string]any{"i": int64(3)}, "b": true}, "b": {"s": "y", "b": false}, "c": {},
	} {
		u := thing("v1", name)
		for k, v := range content {
			u.Object[k] = v
		}
		if _, err := server.Do(&apiserver.Request{Verb: apiserver.Create, Resource: stored, Object: u}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ selector, want string }{
		{"s=x", "a"}, {"s!=x", "b c"}, {"s=", "c"}, {"deep.i=3", "a"}, {"deep.i=", "b c"}, {"b=true", "a"}, {"b=false", "b"}, {"metadata.name=b,s=y", "b"},
		{"x=1", `field label not supported: x`}, {"metadata.namespace=default", "field label not supported: metadata.namespace"},
	} {
		var got string
		r, err := server.Do(&apiserver.Request{Verb: apiserver.List, Resource: stored, FieldSelector: c.selector})
		if err != nil {
			got = err.Error()
		} else {
			var names []string
			for _, o := range r.Items {
				names = append(names, o.GetName())
			}
			got = strings.Join(names, " ")
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.selector, got, c.want)
		}
	}
}
