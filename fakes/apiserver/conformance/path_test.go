package conformance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parseJSON decodes as answers are decoded.
func parseJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := decode(strings.NewReader(text), &v); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return v
}

func TestLookup(t *testing.T) {
	pod := parseJSON(t, `{
		"metadata": {"name": "a", "labels": {"x.y/z": "1"}, "annotations": {}},
		"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "ports": [{"p": 1}, {"p": 2}]}]},
		"data": null, "text": "häh"
	}`)
	for path, want := range map[string]string{
		"metadata.name":                      `"a"`,
		`metadata.labels["x.y/z"]`:           `"1"`,
		"metadata.annotations":               `{}`,
		"data":                               `null`,
		"data.k":                             `"(absent)"`,
		"metadata.uid":                       `"(absent)"`,
		"spec.containers[1].name":            `"d"`,
		"spec.containers[2]":                 `"(absent)"`,
		"spec.containers[*].name":            `["c","d"]`,
		"spec.containers[*].image":           `["i","(absent)"]`,
		"spec.nothing[*].image":              `"(absent)"`,
		"spec.containers[name=d].ports[*].p": `[1,2]`,
		"spec.containers[name=x]":            `"(absent)"`,
		"spec.containers.#len":               `2`,
		"text.#len":                          `3`,
		"spec.#keys":                         `["containers"]`,
		"#keys":                              `["data","metadata","spec","text"]`,
		"metadata.name.#keys":                `"(absent)"`,
	} {
		got, err := Lookup(pod, path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if diff := cmp.Diff(want, show(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestLookupRefusesMalformedPaths(t *testing.T) {
	for _, path := range []string{"a[", `a["b`, "a[x]", "a..b", ".a"} {
		if got, err := Lookup(map[string]any{}, path); err == nil {
			t.Errorf("%s: no error but %v", path, got)
		}
	}
}
