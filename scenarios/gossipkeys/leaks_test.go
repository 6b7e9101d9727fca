package gossipkeys

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// TestEveryWayToShowAKeyIsFound shows keys of all sizes, and pieces of them, in
// every way in which they may get into a text.
func TestEveryWayToShowAKeyIsFound(t *testing.T) {
	ways := map[string]func([]byte) string{
		"as it is":            func(b []byte) string { return string(b) },
		"quoted":              func(b []byte) string { return fmt.Sprintf("%q", b) },
		"quoted as ASCII":     func(b []byte) string { return fmt.Sprintf("%+q", b) },
		"hexadecimal":         func(b []byte) string { return fmt.Sprintf("%x", b) },
		"big hexadecimal":     func(b []byte) string { return fmt.Sprintf("%X", b) },
		"numbers":             func(b []byte) string { return fmt.Sprint(b) },
		"numbers in a struct": func(b []byte) string { return fmt.Sprintf("%+v", struct{ Keys [][]byte }{[][]byte{b}}) },
		"Go syntax":           func(b []byte) string { return fmt.Sprintf("%#v", [][]byte{b}) },
		"base64":              base64.StdEncoding.EncodeToString,
		"base64 for URLs":     base64.RawURLEncoding.EncodeToString,
		"base64 after 1 byte": func(b []byte) string { return base64.StdEncoding.EncodeToString(append([]byte("x"), b...)) },
		"base64 after 2":      func(b []byte) string { return base64.StdEncoding.EncodeToString(append([]byte("xy"), b...)) },
		"JSON":                func(b []byte) string { return encoded(map[string][]byte{"a": b}) },
		"JSON of a Secret":    func(b []byte) string { return encoded(map[string][]byte{"keys": []byte(line(b))}) },
		"second in a Secret":  func(b []byte) string { return encoded(map[string][]byte{"keys": []byte("K1 and more\n" + line(b))}) },
		"third in a Secret": func(b []byte) string {
			return encoded(map[string][]byte{"keys": []byte("a line of another size\n" + line(b))})
		},
		"hexadecimal in JSON": func(b []byte) string { return encoded([]string{hex.EncodeToString(b)}) },
	}
	for _, size := range []KeyName{"A/16", "B/24", "C", "D", "E"} {
		var l ledger
		key, err := l.key(size)
		if err != nil {
			t.Fatal(err)
		}
		for how, show := range ways {
			for _, part := range [][]byte{key.Bytes(), key.Bytes()[3:], key.Bytes()[:13]} {
				if text := "says: " + show(part) + "!"; l.leaks([]byte(text)) == nil {
					t.Errorf("%d of the %d bytes of key %s, %s, are not found in %q", len(part), len(key.Bytes()), size, how, text)
				}
			}
		}
	}
}

func line(b []byte) string { return base64.StdEncoding.EncodeToString(b) + "\n" }

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestWhatMayBeShownIsNoLeak(t *testing.T) {
	var l, other ledger
	keys, err := l.list([]KeyName{"K1", "K2/16", "K3/24"})
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := other.key("stranger")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "x", "K1", strings.Join(keys.Fingerprints(), " "), fmt.Sprint(keys), fmt.Sprintf("%#v %x", keys, keys),
		encoded(keys), gossipkeys.RotationAnnotation, line(stranger.Bytes()), encoded(l.names),
		line(keys[0].Bytes()[:6]),
	} {
		if err := l.leaks([]byte(text)); err != nil {
			t.Errorf("%v in %q", err, text)
		}
	}
}

func TestALeakIsNamedWithoutRepeatingIt(t *testing.T) {
	var l ledger
	key, err := l.key("K7")
	if err != nil {
		t.Fatal(err)
	}
	found := l.leaks([]byte("keys: " + line(key.Bytes())))
	const want = "a piece of the key K7 in base64"
	if found == nil || found.Error() != want || l.leaks([]byte(found.Error())) != nil {
		t.Errorf("error %v, want %s", found, want)
	}
}
