package gossipkeys_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// key makes a 32-byte key all of one letter, so that K('A') is easy to spot in
// any form it could leak in.
func key(letter byte) gossipkeys.Key { return sizedKey(letter, 32) }

func sizedKey(letter byte, size int) gossipkeys.Key {
	k, err := gossipkeys.NewKey(bytes.Repeat([]byte{letter}, size))
	if err != nil {
		panic(err)
	}
	return k
}

func keys(letters string) gossipkeys.Keys {
	var ks gossipkeys.Keys
	for _, letter := range []byte(letters) {
		ks = append(ks, key(letter))
	}
	return ks
}

// letters is the inverse of keys, for readable diffs.
func letters(ks gossipkeys.Keys) string {
	var s strings.Builder
	for _, k := range ks {
		s.WriteByte(k.Bytes()[0])
	}
	return s.String()
}

// text is the Secret's data for keys.
func text(letters string) string { return string(gossipkeys.FormatKeys(keys(letters))) }

// leaks returns the form in which out gives away the key of the letter, or "".
func leaks(out string, letter byte) string {
	raw := bytes.Repeat([]byte{letter}, 6)
	for form, secret := range map[string]string{
		"raw":     string(raw),
		"base64":  base64.StdEncoding.EncodeToString(raw),
		"hex":     hex.EncodeToString(raw),
		"HEX":     strings.ToUpper(hex.EncodeToString(raw)),
		"decimal": strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d ", letter), 6)),
		"go":      strings.Repeat(fmt.Sprintf("%#x, ", letter), 6),
		"json":    strings.Repeat(fmt.Sprintf("%d,", letter), 6),
		"octal":   strings.TrimSpace(strings.Repeat(fmt.Sprintf("%o ", letter), 6)),
		"unicode": strings.TrimSpace(strings.Repeat(fmt.Sprintf("%U ", letter), 6)),
		"binary":  strings.TrimSpace(strings.Repeat(fmt.Sprintf("%b ", letter), 6)),
	} {
		if strings.Contains(out, secret) {
			return form
		}
	}
	return ""
}

// Invariant 17: whatever a person prints by accident, the key is not in it.
func TestKeysNeverShow(t *testing.T) {
	type hidden struct {
		k    gossipkeys.Key
		list gossipkeys.Keys
		p    *gossipkeys.Key
	}
	k := key('Z')
	values := map[string]any{
		"key":     k,
		"pointer": &k,
		"list":    gossipkeys.Keys{k, key('Y')},
		"hidden":  hidden{k, gossipkeys.Keys{k}, &k},
		"options": gossipkeys.InstanceOptions{Name: "n", Keys: gossipkeys.Keys{k}},
		"map":     map[string]gossipkeys.Key{"a": k},
		"any":     []any{k},
	}
	if form := leaks(fmt.Sprintf("%v", k.Bytes()), 'Z'); form != "decimal" {
		t.Fatalf("the detector is blind: %q", form)
	}
	for name, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%p"} {
			if form := leaks(fmt.Sprintf(verb, value), 'Z'); form != "" {
				t.Errorf("%s printed with %s shows the key in %s", name, verb, form)
			}
		}
		if out, err := json.Marshal(value); err == nil {
			if form := leaks(string(out), 'Z'); form != "" {
				t.Errorf("%s as JSON shows the key in %s", name, form)
			}
		}
		var logged bytes.Buffer
		slog.New(slog.NewTextHandler(&logged, nil)).Info("m", "v", value)
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("m", "v", value)
		funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{}).Info("m", "v", value)
		if form := leaks(logged.String(), 'Z'); form != "" {
			t.Errorf("%s logged shows the key in %s:\n%s", name, form, logged.String())
		}
	}
	for _, diff := range []string{
		cmp.Diff(gossipkeys.Keys{k}, gossipkeys.Keys{key('Y')}),
		cmp.Diff(map[string]*gossipkeys.Key{"a": &k}, map[string]*gossipkeys.Key{}),
		cmp.Diff(gossipkeys.InstanceOptions{Keys: gossipkeys.Keys{k, k}}, gossipkeys.InstanceOptions{Keys: gossipkeys.Keys{key('Y')}}),
	} {
		if form := leaks(diff, 'Z'); form != "" {
			t.Errorf("a diff shows the key in %s:\n%s", form, diff)
		}
	}
	for _, got := range []string{fmt.Sprint(k), fmt.Sprintf("%#v", k), k.String(), k.GoString()} {
		if want := "key:" + gossipkeys.Fingerprint(k.Bytes()); got != want {
			t.Errorf("key prints as %q, want %q", got, want)
		}
	}
}

func TestKeyIsImmutable(t *testing.T) {
	raw := bytes.Repeat([]byte{'A'}, 16)
	k, err := gossipkeys.NewKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	raw[0] = 'x'
	k.Bytes()[1] = 'x'
	if !k.Equal(sizedKey('A', 16)) {
		t.Error("a key changed with the slice it came from or gave away")
	}
}

func TestKeyEquality(t *testing.T) {
	var none gossipkeys.Key
	if !none.Equal(gossipkeys.Key{}) || none.Equal(key('A')) || key('A').Equal(none) {
		t.Error("the zero key equals itself and nothing else")
	}
	if sizedKey('A', 16).Equal(sizedKey('A', 32)) {
		t.Error("a prefix is another key")
	}
	if !none.IsZero() || none.Bytes() != nil || none.Fingerprint() != "none" {
		t.Error("the zero key has no bytes")
	}
	if keys("AB").Equal(keys("BA")) || keys("A").Equal(keys("AA")) {
		t.Error("order and number matter")
	}
}

func TestUniqueKeepsFirstPlaces(t *testing.T) {
	if got := letters(keys("BABCA").Unique()); got != "BAC" {
		t.Errorf("got %s, want BAC", got)
	}
}

func TestFingerprint(t *testing.T) {
	// The first 8 hex digits of SHA-256 of the empty string are well known.
	if got := gossipkeys.Fingerprint(nil); got != "e3b0c442" {
		t.Errorf("got %s", got)
	}
}

func TestGenerateKey(t *testing.T) {
	k, err := gossipkeys.GenerateKey(strings.NewReader(strings.Repeat("A", 40)))
	if err != nil || !k.Equal(key('A')) {
		t.Errorf("32 bytes of entropy make the key: %v, %v", k, err)
	}
	for name, entropy := range map[string]*strings.Reader{
		"none": strings.NewReader(""), "too little": strings.NewReader("AAAAAAAAAAAAAAAA"),
	} {
		if k, err := gossipkeys.GenerateKey(entropy); err == nil || !k.IsZero() || leaks(err.Error(), 'A') != "" {
			t.Errorf("%s: got %v, %v", name, k, err)
		}
	}
	broken := errors.New("broken")
	if _, err := gossipkeys.GenerateKey(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("the reader's error is wrapped, got %v", err)
	}
}
