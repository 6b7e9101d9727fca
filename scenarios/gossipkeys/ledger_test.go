package gossipkeys

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

func TestNamesOfKeys(t *testing.T) {
	tests := []struct {
		name string
		size int // 0: refused
	}{
		{"K1", 32}, {"K1/16", 16}, {"K1/24", 24}, {"K1/32", 32}, {"mine", 32}, {"ключ/16", 16}, {"a.b-c_d/24", 24},
		{"", 0}, {"/16", 0}, {"K1/", 0}, {"K1/17", 0}, {"K1/016", 0}, {"K1/+16", 0}, {"K1/16/16", 0}, {"K1/x", 0},
		{"K 1", 0}, {"K1\n", 0}, {"{K1}", 0}, {"K1 /16", 0},
	}
	for _, test := range tests {
		var parsed KeyName
		err := parsed.ParseText(test.name)
		if (err == nil) != (test.size > 0) {
			t.Errorf("%q: %v", test.name, err)
		}
		if err != nil {
			want := fmt.Sprintf("%q is no name of a key; write a word such as K1, or K1/16 for one of 16 bytes (16, 24 or 32)", test.name)
			if err.Error() != want {
				t.Errorf("error: %v", err)
			}
			continue
		}
		var l ledger
		if key, err := l.key(parsed); err != nil || len(key.Bytes()) != test.size {
			t.Errorf("%q gives %d bytes: %v", test.name, len(key.Bytes()), err)
		}
	}
}

func TestTheLedgerKnowsKeysByName(t *testing.T) {
	var l, other ledger
	keys, err := l.list([]KeyName{"K1", "K2", "K1", "K1/16"})
	if err != nil {
		t.Fatal(err)
	}
	if !keys[0].Equal(keys[2]) || keys[0].Equal(keys[1]) || keys[0].Equal(keys[3]) {
		t.Error("one name must be one key, and two names two")
	}
	if again, err := other.key("K1"); err != nil || !again.Equal(keys[0]) {
		t.Error("K1 is another key in another run")
	}
	if diff := cmp.Diff([]string{"K1", "K2", "K1", "K1/16"}, l.namesOf(keys)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	found, err := gossipkeys.NewKey(make([]byte, 24))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if name := l.name(found); name != "generated-4" {
			t.Errorf("a key that nobody named is called %s", name)
		}
	}
	if _, err := l.list([]KeyName{"K1", "K1/7"}); err == nil {
		t.Error("a list with a bad name is accepted")
	}
}

// TestReadingIsStrict holds this package's own reading of the format, by which
// the production code is judged, against cases written out by hand.
func TestReadingIsStrict(t *testing.T) {
	var l ledger
	const one = "AAECAwQFBgcICQoLDA0ODw==" // 16 bytes from 0 to 15
	first, err := gossipkeys.NewKey([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	if err != nil {
		t.Fatal(err)
	}
	two, err := l.fill("{K2/24}")
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.key("K2/24")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, data string
		want       gossipkeys.Keys
	}{
		{"one", one, gossipkeys.Keys{first}},
		{"one line", one + "\n", gossipkeys.Keys{first}},
		{"order", one + "\n" + string(two), gossipkeys.Keys{first, second}},
		{"the other order", string(two) + "\n" + one, gossipkeys.Keys{second, first}},
		{"twice", one + "\n" + one + "\n", gossipkeys.Keys{first, first}},
		{"blank lines and spaces", "\n \t\n  " + one + " \r\n\n", gossipkeys.Keys{first}},
		{"nothing", "", nil},
		{"only white space", " \n\t\n", nil},
		{"no base64", "not a key", nil},
		{"one bad line of two", one + "\nnot a key\n", nil},
		{"a character too many", one + "!\n", nil},
		{"without padding", "AAECAwQFBgcICQoLDA0ODw", nil},
		{"for URLs", "AAECAwQFBgcICQoLDA0O_w==", nil},
		{"wrong size", "AAECAw==", nil},
		{"two on one line", one + " " + one, nil},
	} {
		if got := read([]byte(test.data)); !got.Equal(test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: read %v, want %v", test.name, got, test.want)
		}
		if test.want != nil && !read(text(test.want)).Equal(test.want) {
			t.Errorf("%s: does not read back", test.name)
		}
	}
}

func TestTextNamesKeysInBraces(t *testing.T) {
	var l ledger
	got, err := l.fill("{K1}\n no key \n{K2/16}!\n")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := l.list([]KeyName{"K1", "K2/16"})
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{string(text(keys[:1])), string(text(keys[1:]))}
	want := lines[0] + " no key \n" + lines[1][:len(lines[1])-1] + "!\n"
	if string(got) != want {
		t.Error("the text is not as it should be") // which it is not to show
	}
	if plain, err := l.fill(" \n\t"); err != nil || string(plain) != " \n\t" {
		t.Errorf("a text without names is changed to %q: %v", plain, err)
	}
	for _, bad := range []string{"{}", "{K1/7}", "{K 1}"} {
		var parsed SecretText
		if err := parsed.ParseText("{K1}\n" + bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
		if _, err := l.fill(SecretText(bad)); err == nil {
			t.Errorf("%s is filled", bad)
		}
	}
}
