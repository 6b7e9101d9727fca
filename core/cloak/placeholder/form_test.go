package placeholder_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
)

// swap does in a text what the data plane does in its encrypted form.
func swap(text []byte, forms ...[]placeholder.Form) (swapped []byte, hits int) {
	keys := map[placeholder.Key]*placeholder.Form{}
	for _, list := range forms {
		for i := range list {
			keys[list[i].Key] = &list[i]
		}
	}
	out := bytes.Clone(text)
	found := placeholder.Find(text, func(k placeholder.Key) *placeholder.Form { return keys[k] })
	for _, hit := range found {
		for i, d := range hit.Form.Delta.Reveal() {
			out[hit.At+i] ^= d
		}
	}
	return out, len(found)
}

// header writes a header block as an HTTP/2 client does: in the Huffman code where
// that is shorter, which the fields here are.
func header(t interface{ Fatal(...any) }, value string) []byte {
	var b bytes.Buffer
	if err := hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: "authorization", Value: value, Sensitive: true}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decode reads a header block as strictly as RFC 7541 wants it.
func decode(block []byte) (string, error) {
	fields, err := hpack.NewDecoder(4096, nil).DecodeFull(block)
	if err != nil {
		return "", err
	}
	return fields[0].Value, nil
}

// Section 3.6: a placeholder at each of the 8 bit offsets of a Huffman code is swapped,
// and a strict decoder reads the value, with all around it as it was.
func TestHuffmanAtEachOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := append([]byte("sk-live-09"), values.Draw(t, "value")...)
		if placeholder.Check(value) != nil {
			t.Skip("too long by now")
		}
		p, err := placeholder.Mint(entropy(rapid.Uint64().Draw(t, "seed")), value)
		if err != nil {
			t.Fatal(err)
		}
		forms := placeholder.Forms(p, value)
		if len(forms) != 9 {
			t.Fatalf("%d forms of %q", len(forms), p)
		}
		for offset := range 8 {
			front := strings.Repeat("0", offset) // five bits each, so each offset once
			back := rapid.StringN(0, 9, -1).Draw(t, "back")
			block := header(t, front+p+back)
			swapped, hits := swap(block, forms)
			got, err := decode(swapped)
			if err != nil || got != front+string(value)+back || hits != 1 {
				t.Fatalf("after %q: %d hits, %v, %q, want %q", front, hits, err, got, front+string(value)+back)
			}
		}
	})
}

// Without the same number of bits in HPACK, a strict decoder refuses what arrives.
func TestOtherNumberOfBitsIsRefused(t *testing.T) {
	for _, value := range []string{"0000000000000000000aZZZZZZ", "ZZZZZZZZZZZZZZZZZZZZZZZZ!!"} {
		p := "kl--QkQk5Hn2QkQkQkQkQkQkQk"
		if fit := placeholder.Fits(p, []byte(value)); fit != placeholder.FitsRaw {
			t.Fatalf("fits %s", fit)
		}
		if n := len(placeholder.Forms(p, []byte(value))); n != 1 {
			t.Fatalf("%d forms", n)
		}
		block := header(t, p)
		patched := bytes.Clone(block[:len(block)-int(hpack.HuffmanEncodeLength(p))])
		patched = append(patched, hpack.AppendHuffmanString(nil, value)...)
		patched = append(patched, bytes.Repeat([]byte{0xff}, 32)...)[:len(block)]
		if got, err := decode(patched); err == nil && got == value {
			t.Errorf("%q was read though it has %d bits in place of %d", got, placeholder.Bits([]byte(value)), placeholder.Bits([]byte(p)))
		}
	}
}

func TestRawForm(t *testing.T) {
	value := []byte("swordfish-09")
	p, err := placeholder.Mint(entropy(3), value)
	if err != nil {
		t.Fatal(err)
	}
	forms := placeholder.Forms(p, value)
	for _, tc := range []struct {
		text, want string
		hits       int
	}{
		{p, string(value), 1},
		{"Authorization: " + p + "\r\n", "Authorization: swordfish-09\r\n", 1},
		{p + p + "&" + p, "swordfish-09swordfish-09&swordfish-09", 3},
		{p[:len(p)-1], p[:len(p)-1], 0},
		{p[:8], p[:8], 0},
		{p[:8] + "----" + p, p[:8] + "----swordfish-09", 1}, // another tail behind the same key
		{p[:8] + "---" + p[11:], p[:8] + "---" + p[11:], 0},
		{"", "", 0}, {"kl--", "kl--", 0}, {"kl--" + p, "kl--swordfish-09", 1},
	} {
		if got, hits := swap([]byte(tc.text), forms); string(got) != tc.want || hits != tc.hits {
			t.Errorf("%q becomes %q with %d hits, want %q with %d", tc.text, got, hits, tc.want, tc.hits)
		}
	}
}

// Two placeholders that share a byte of a Huffman code, which takes a separator of
// five or six bits, are both swapped.
func TestTwoInOneByte(t *testing.T) {
	a, b := []byte("correct-horse-battery"), []byte("Tr0ub4dor-and-3-staples")
	reader := entropy(5)
	pa, err := placeholder.Mint(reader, a)
	if err != nil {
		t.Fatal(err)
	}
	pb, err := placeholder.Mint(reader, b)
	if err != nil {
		t.Fatal(err)
	}
	for offset := range 8 {
		for _, between := range []string{"", "0", "-", "k"} {
			front := strings.Repeat("0", offset)
			swapped, hits := swap(header(t, front+pa+between+pb), placeholder.Forms(pa, a), placeholder.Forms(pb, b))
			got, err := decode(swapped)
			if want := front + string(a) + between + string(b); err != nil || got != want || hits != 2 {
				t.Errorf("%d hits, %v, %q, want %q", hits, err, got, want)
			}
		}
	}
}

// Short placeholders have as many forms as leave eight whole bytes for a key.
func TestShortPlaceholders(t *testing.T) {
	for n := placeholder.LengthMin; n <= 20; n++ {
		value := []byte(strings.Repeat("k9aQ", 5)[:n])
		p, err := placeholder.Mint(entropy(uint64(n)), value)
		if err != nil {
			t.Fatal(err)
		}
		forms := placeholder.Forms(p, value)
		for _, f := range forms {
			if f.KeyAt+placeholder.KeyLength > len(f.Old) {
				t.Errorf("%d bytes: the key at %d is longer than %d bytes", n, f.KeyAt, len(f.Old))
			}
		}
		want := 1
		for offset := range 8 {
			if (offset+placeholder.Bits(value))/8-(offset+7)/8 >= 8 {
				want++
			}
		}
		if len(forms) != want {
			t.Errorf("%d bytes: %d forms, want %d", n, len(forms), want)
		}
	}
}

// What KeyOf says of keys: those of one placeholder differ, and two placeholders with
// different raw keys have none in common.
func TestKeysStayApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owner := map[placeholder.Key]string{}
		raw := map[placeholder.Key]bool{}
		reader := entropy(rapid.Uint64().Draw(t, "seed"))
		for range 40 {
			value := values.Draw(t, "value")
			p, err := placeholder.Mint(reader, value)
			if err != nil {
				t.Fatal(err)
			}
			key, _ := placeholder.KeyOf(p)
			if raw[key] {
				continue
			}
			raw[key] = true
			for i, f := range placeholder.Forms(p, value) {
				id := fmt.Sprint(p, i)
				if other, taken := owner[f.Key]; taken {
					t.Fatalf("form %s has the key of %s", id, other)
				}
				owner[f.Key] = id
			}
		}
	})
}

// A form does not show the value it is for.
func TestFormsDoNotShowTheValue(t *testing.T) {
	value := []byte("swordfish-09")
	p, err := placeholder.Mint(entropy(3), value)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if shown := fmt.Sprintf(verb, placeholder.Forms(p, value)); strings.Contains(shown, "fish") {
			t.Errorf("%s shows %s", verb, shown)
		}
	}
}
