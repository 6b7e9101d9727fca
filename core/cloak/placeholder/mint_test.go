package placeholder_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
)

// entropy is randomness from a seed.
func entropy(seed uint64) io.Reader { return rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}) }

// values draws what a placeholder can stand in for.
var values = rapid.Custom(func(t *rapid.T) []byte {
	n := rapid.IntRange(placeholder.LengthMin, placeholder.LengthMax).Draw(t, "length")
	value := rapid.StringOfN(rapid.RuneFrom([]rune("eiost0129ABHMXZfghnpr/-_.=+&*,;!?")), n, n, -1).Draw(t, "value")
	return []byte(value)
}).Filter(func(v []byte) bool { return placeholder.Check(v) == nil })

func TestMint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := values.Draw(t, "value")
		p, err := placeholder.Mint(entropy(rapid.Uint64().Draw(t, "seed")), value)
		if err != nil {
			t.Fatal(err)
		}
		if len(p) != len(value) || hpack.HuffmanEncodeLength(p+strings.Repeat(p, 7)) != hpack.HuffmanEncodeLength(strings.Repeat(string(value), 8)) {
			t.Fatalf("%q for %q: %d and %d bytes, %d and %d bits", p, value, len(p), len(value), placeholder.Bits([]byte(p)), placeholder.Bits(value))
		}
		if placeholder.Fits(p, value) != placeholder.FitsAll || !placeholder.Is(p) {
			t.Fatalf("%q does not fit %q", p, value)
		}
		if key, ok := placeholder.KeyOf(p); !ok || string(key[:]) != p[:8] {
			t.Fatalf("the key of %q is %v, %t", p, key, ok)
		}
	})
}

// Section 2.3: what can have a placeholder, and what cannot, at each edge.
func TestCheck(t *testing.T) {
	ex := func(n int) string { return strings.Repeat("k", n-1) + "X" } // seven bits a byte, one of eight
	for _, tc := range []struct {
		row, value string
		want       error
	}{
		{"7 bytes", ex(7), placeholder.ErrTooShort},
		{"8 bytes", ex(8), nil},
		{"128 bytes", ex(128), nil},
		{"129 bytes", ex(129), placeholder.ErrTooLong},
		{"nothing", "", placeholder.ErrTooShort},
		{"not UTF-8", ex(20) + "\xff", placeholder.ErrNotText},
		{"not UTF-8 and 7 bytes", "secret\xff", placeholder.ErrTooShort},
		// 20 bytes have 25 bits of prefix and 16 codes of 5 to 8: from 105 to 153.
		{"105 bits in 20 bytes", strings.Repeat("a", 15) + strings.Repeat("b", 5), nil},
		{"104 bits in 20 bytes", strings.Repeat("a", 16) + strings.Repeat("b", 4), placeholder.ErrMix},
		{"153 bits in 20 bytes", strings.Repeat("k", 7) + strings.Repeat("X", 13), nil},
		{"154 bits in 20 bytes", strings.Repeat("k", 6) + strings.Repeat("X", 14), placeholder.ErrMix},
		{"a character that is not ASCII", strings.Repeat("a", 30) + "é", nil},
		{"many that are not", strings.Repeat("é", 8), placeholder.ErrMix},
	} {
		err := placeholder.Check([]byte(tc.value))
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.row, err, tc.want)
		}
		p, minted := placeholder.Mint(entropy(1), []byte(tc.value))
		if (err == nil) != (minted == nil) || err == nil && placeholder.Fits(p, []byte(tc.value)) != placeholder.FitsAll {
			t.Errorf("%s: Mint: %q, %v", tc.row, p, minted)
		}
		if err != nil && len(tc.value) > 3 && strings.Contains(err.Error(), tc.value[:4]) {
			t.Errorf("%s: the error shows the value: %v", tc.row, err)
		}
	}
}

// Of each position every character that is possible there is drawn.
func TestMintDrawsFromAllThatIsPossible(t *testing.T) {
	value := []byte("Ab3xYz09-kQ_")
	seen := map[string]bool{}
	reader := entropy(7)
	for range 20000 {
		p, err := placeholder.Mint(reader, value)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(placeholder.Prefix); i < len(p); i++ {
			seen[fmt.Sprint(i, p[i:i+1])] = true
		}
	}
	if want := 62 * (len(value) - len(placeholder.Prefix)); len(seen) != want {
		t.Errorf("%d of %d characters were drawn", len(seen), want)
	}
}

func TestMintWithoutEntropy(t *testing.T) {
	if p, err := placeholder.Mint(strings.NewReader("ab"), []byte("correct-horse")); !errors.Is(err, io.EOF) || p != "" {
		t.Errorf("%q, %v", p, err)
	}
}

func TestIs(t *testing.T) {
	for p, want := range map[string]bool{
		"kl--abcd": true, "kl--abc": false, "kl-aabcd": false, "kl--ab-d": false, "kl--abc\n": false, "": false,
		"kl--" + strings.Repeat("a", 124): true, "kl--" + strings.Repeat("a", 125): false,
	} {
		if placeholder.Is(p) != want {
			t.Errorf("Is(%q) = %t", p, !want)
		}
		if _, ok := placeholder.KeyOf(p); ok != want {
			t.Errorf("KeyOf(%q) says %t", p, ok)
		}
	}
}

// Section 2.3: for a value whose mix of characters no placeholder has, there is one that is
// good outside of HPACK only, and no better one.
func TestMintRaw(t *testing.T) {
	entropy := rand.NewChaCha8([32]byte{7})
	mixed, even := []byte(strings.Repeat("a", 16)+strings.Repeat("b", 4)), []byte("Correct-Horse-Staple")
	p, err := placeholder.MintRaw(entropy, mixed)
	if err != nil || placeholder.Fits(p, mixed) != placeholder.FitsRaw || !placeholder.Suits(p, mixed) || len(placeholder.Forms(p, mixed)) != 1 {
		t.Errorf("%q fits %s, %v", p, placeholder.Fits(p, mixed), err)
	}
	if full, err := placeholder.Mint(entropy, even); err != nil || !placeholder.Suits(full, even) || placeholder.Suits(p, even) {
		t.Errorf("%q suits a value that has better ones, %v", p, err)
	}
	for _, bad := range []string{"short", strings.Repeat("long", 33), "not text \xff"} {
		if p, err := placeholder.MintRaw(entropy, []byte(bad)); err == nil || placeholder.Suits(p, []byte(bad)) {
			t.Errorf("%q for %q", p, bad)
		}
	}
}
