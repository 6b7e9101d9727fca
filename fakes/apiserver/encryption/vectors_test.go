package encryption_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// TestVectors opens values that k8s.io/apiserver has sealed; see the module conformance,
// which has written them, and which holds the two against each other in full.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/sealed.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Providers          []string
		Path, Text, Stored string
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	var raw []struct{ Text, Stored []byte }
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	l.plugin("1")
	for i, v := range vectors {
		text, stale, _, err := l.build(v.Providers...).Open(v.Path, raw[i].Stored)
		if err != nil || stale || string(text) != string(raw[i].Text) {
			t.Errorf("%s of %d bytes: stale=%v, %v", fmt.Sprint(v.Providers), len(raw[i].Text), stale, err)
		}
	}
}
