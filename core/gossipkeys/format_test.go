package gossipkeys_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

func encoded(letter byte, size int) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{letter}, size))
}

// Section 2 of the specification, rule by rule.
func TestParseKeys(t *testing.T) {
	a, b := encoded('A', 32), encoded('B', 32)
	for _, tc := range []struct {
		name, data string
		want       string // letters
		wantErr    string // fragment
	}{
		{"one key, no newline", a, "A", ""},
		{"trailing newline", a + "\n", "A", ""},
		{"two keys keep their order", b + "\n" + a + "\n", "BA", ""},
		{"windows line ends", a + "\r\n" + b + "\r\n", "AB", ""},
		{"space around lines", " \t" + a + "  \n\v" + b + "\f\n", "AB", ""},
		{"blank lines anywhere", "\n\n" + a + "\n   \n\n" + b + "\n\n", "AB", ""},
		{"repeated key is kept", a + "\n" + a, "AA", ""},
		{"sizes may be mixed", encoded('A', 16) + "\n" + encoded('B', 24) + "\n" + encoded('C', 32), "ABC", ""},

		{"empty", "", "", "no key found"},
		{"newline only", "\n", "", "no key found"},
		{"white space only", "  \n\n", "", "no key found"},
		{"not base64", "!!!", "", "key at index 0 is not valid base64"},
		{"second bad, blank lines not counted", a + "\n\n\n???\n", "", "key at index 1 is not valid base64"},
		{"unpadded", strings.TrimRight(a, "="), "", "is not valid base64"},
		{"URL-safe alphabet", strings.ReplaceAll(encoded(0xff, 24), "/", "_"), "", "is not valid base64"},
		{"two keys on one line", a + " " + b, "", "is not valid base64"},
		{"too short", encoded('A', 15), "", "key at index 0 is invalid"},
		{"too long", a + "\n" + encoded('B', 33), "", "key at index 1 is invalid"},
		{"between the sizes", encoded('A', 20), "", "is invalid"},
		{"good key after a bad one does not help", encoded('A', 1) + "\n" + b, "", "key at index 0 is invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := gossipkeys.ParseKeys([]byte(tc.data))
			if tc.wantErr == "" {
				if err != nil || letters(got) != tc.want {
					t.Errorf("got %q, %v, want %q", letters(got), err, tc.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got error %v, want %q", err, tc.wantErr)
			}
			if got != nil {
				t.Errorf("a failed parse returned %d keys", len(got))
			}
		})
	}
}

func TestNoKeyIsAKindOfError(t *testing.T) {
	if _, err := gossipkeys.ParseKeys(nil); !errors.Is(err, gossipkeys.ErrNoKey) {
		t.Errorf("got %v", err)
	}
}

func TestFormatKeys(t *testing.T) {
	if got, want := text("AB"), encoded('A', 32)+"\n"+encoded('B', 32)+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// The pair is no inverse on the empty list.
	if got := string(gossipkeys.FormatKeys(nil)); got != "\n" {
		t.Errorf("got %q, want a newline", got)
	}
}

// permittedErrors is every message ParseKeys may give: none has room for input.
var permittedErrors = regexp.MustCompile(
	`^(no key found|key at index \d+ is not valid base64|key at index \d+ is invalid: a key has 16, 24 or 32 bytes, not \d+)$`)

// Invariants 1, 2 and 17: all keys or none, an exact round trip, and errors
// that say nothing of the input.
func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{
		"", "\n", text("A"), text("ABC"), encoded('A', 16) + "\r\n" + encoded('B', 24), "????", encoded('A', 5), "\x00\n=",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		parsed, err := gossipkeys.ParseKeys(data)
		if !bytes.Equal(before, data) {
			t.Fatal("parsing changed the data")
		}
		if err != nil {
			if parsed != nil || !permittedErrors.MatchString(err.Error()) {
				t.Fatalf("got %d keys and %q", len(parsed), err)
			}
			return
		}
		lines := 0
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
			}
		}
		if len(parsed) == 0 || len(parsed) != lines {
			t.Fatalf("%d keys from %d lines", len(parsed), lines)
		}
		for _, k := range parsed {
			if size := len(k.Bytes()); size != 16 && size != 24 && size != 32 {
				t.Fatalf("a key of %d bytes", size)
			}
		}
		again, err := gossipkeys.ParseKeys(gossipkeys.FormatKeys(parsed))
		if err != nil || !again.Equal(parsed) {
			t.Fatalf("round trip gave %v, %v", again, err)
		}
	})
}

// Any valid list survives the way into the Secret and back.
func FuzzFormatKeys(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef"), uint(0))
	f.Fuzz(func(t *testing.T, material []byte, sizes uint) {
		var list gossipkeys.Keys
		for len(material) > 0 {
			size := []int{16, 24, 32}[sizes%3]
			sizes /= 3
			if size > len(material) {
				break
			}
			k, err := gossipkeys.NewKey(material[:size])
			if err != nil {
				t.Fatal(err)
			}
			list, material = append(list, k), material[size:]
		}
		if len(list) == 0 {
			return
		}
		got, err := gossipkeys.ParseKeys(gossipkeys.FormatKeys(list))
		if err != nil || !got.Equal(list) {
			t.Fatalf("got %v, %v, want %v", got, err, list)
		}
	})
}
