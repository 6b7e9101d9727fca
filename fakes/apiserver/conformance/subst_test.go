package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testScope(t *testing.T) *scope {
	return &scope{
		vars: map[string]string{"ns": "n1", "x": "rnd"},
		answers: map[string]any{
			"create": parseJSON(t, `{"metadata": {"uid": "u-1", "resourceVersion": "7"}, "spec": {"replicas": 1, "a": {"b": "c"}}}`),
		},
	}
}

func TestSubstituteText(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                          "plain",
		"${ns}.example.com/${x}":         "n1.example.com/rnd",
		"${create:metadata.uid}":         "u-1",
		"${create:metadata.name}":        Absent,
		"<${repeat:ab:3}>":               "<ababab>",
		"$patch and $rv1 are left alone": "$patch and $rv1 are left alone",
	} {
		got, err := testScope(t).text(text)
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"${nope}", "${later:a}", "${ns", "${repeat:a:x}"} {
		if got, err := testScope(t).text(text); err == nil {
			t.Errorf("%s: no error but %q", text, got)
		}
	}
}

func TestSubstituteBody(t *testing.T) {
	sc := testScope(t)
	body := parseJSON(t, `{"${base}": "create", "spec.replicas": 5, "spec.a.b": "(delete)", "status.at": "${ns}", "metadata.uid": "(delete)"}`)
	got, err := sc.value(body)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"resourceVersion":"7"},"spec":{"a":{},"replicas":5},"status":{"at":"n1"}}`
	if diff := cmp.Diff(want, show(got)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if uid, _ := Lookup(sc.answers["create"], "metadata.uid"); uid != "u-1" {
		t.Errorf("the earlier answer was changed: uid is %v", uid)
	}
}
