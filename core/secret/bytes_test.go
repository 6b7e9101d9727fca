package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/secret"
)

const hidden = "hush-hush"

// TestBytesDoNotShow prints a value in every way that a program might.
func TestBytesDoNotShow(t *testing.T) {
	b := secret.New([]byte(hidden))
	inside := struct{ key secret.Bytes }{b}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "key", b, "inside", inside)
	encoded, err := json.Marshal(map[string]any{"key": b})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{
		"slog": log.String(), "JSON": string(encoded), "String": b.String(),
		"go-cmp": cmp.Diff(map[string]secret.Bytes{"a": b}, map[string]secret.Bytes{"a": secret.New([]byte("other"))}),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%o"} {
		shown[verb] = fmt.Sprintf(verb, b)
		shown[verb+" in a struct"] = fmt.Sprintf(verb, inside)
		shown[verb+" of a pointer"] = fmt.Sprintf(verb, &inside)
	}
	for how, text := range shown {
		for _, form := range []string{hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden), fmt.Sprint([]byte(hidden))[1:]} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows %q", how, text)
			}
		}
	}
	if got := string(b.Reveal()); got != hidden {
		t.Errorf("Reveal() = %q, want %q", got, hidden)
	}
}

func TestEqual(t *testing.T) {
	a, b := secret.New([]byte("a")), secret.New([]byte("b"))
	for _, c := range []struct {
		x, y secret.Bytes
		want bool
	}{
		{a, a, true}, {a, secret.New([]byte("a")), true}, {a, b, false}, {a, secret.New([]byte("ab")), false},
		{secret.Bytes{}, secret.New(nil), true}, {a, secret.Bytes{}, false}, {secret.Bytes{}, a, false},
	} {
		if got := c.x.Equal(c.y); got != c.want {
			t.Errorf("%q equal %q: %v, want %v", c.x.Reveal(), c.y.Reveal(), got, c.want)
		}
	}
}
