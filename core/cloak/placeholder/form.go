package placeholder

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/seedbed-sim/seedbed/core/secret"
)

// KeyLength is the length of a Key.
const KeyLength = 8

// Key is what a form of a placeholder is looked up by: eight bytes of it. Two
// placeholders whose raw keys differ have no key in common, see [KeyOf].
type Key [KeyLength]byte

// String shows the bytes of the key, which are not secret.
func (k Key) String() string { return fmt.Sprintf("%q", k[:]) }

// Compare orders keys by their bytes.
func (k Key) Compare(other Key) int { return bytes.Compare(k[:], other[:]) }

// KeyOf returns the key of the raw form of a placeholder: its first eight bytes. The
// four after the prefix are in each window that a key of another form is, and no
// window of the Huffman code of the prefix begins like another or like the prefix: so
// whoever keeps raw keys apart keeps all keys apart.
func KeyOf(p string) (key Key, ok bool) {
	if !Is(p) {
		return Key{}, false
	}
	copy(key[:], p)
	return key, true
}

// Is reports whether a text looks like a placeholder: the prefix, the alphabet and the
// length.
func Is(p string) bool {
	tail, ok := strings.CutPrefix(p, Prefix)
	return ok && len(p) >= LengthMin && len(p) <= LengthMax && strings.Trim(tail, alphabet) == ""
}

// Fit is how far a placeholder can stand in for a value.
type Fit string

// How far a placeholder can stand in for a value.
const (
	FitsNot Fit = "not"  // it is no placeholder, or of another length
	FitsRaw Fit = "raw"  // the length agrees, that in HPACK does not
	FitsAll Fit = "full" // both lengths agree
)

// Fits reports how far a placeholder can stand in for a value.
func Fits(p string, value []byte) Fit {
	switch {
	case !Is(p) || len(p) != len(value):
		return FitsNot
	case Bits([]byte(p)) != Bits(value):
		return FitsRaw
	}
	return FitsAll
}

// Form is one way in which a placeholder may be written, and what is to stand there
// instead.
type Form struct {
	Key   Key
	KeyAt int // where the key begins in Old

	// Old is the placeholder. Of its first and last byte only the bits in First and
	// Last are part of it: around a Huffman code there are bits of something else.
	Old         []byte
	First, Last byte

	// Delta is what differs between Old and the real value, bit by bit. It has the
	// length of Old and changes nothing around it.
	Delta secret.Bytes
}

// Forms returns the forms of a placeholder that are to be swapped for a value: those
// that fit. A short placeholder has no Huffman form at an offset where no eight whole
// bytes are left for a key.
func Forms(p string, value []byte) []Form {
	fit := Fits(p, value)
	if fit == FitsNot {
		return nil
	}
	old := []byte(p)
	forms := []Form{newForm(old, value, 0, 8*len(p))}
	for offset := 0; fit == FitsAll && offset < 8; offset++ {
		end := offset + Bits(old)
		if whole := end/8 - (offset+7)/8; whole >= KeyLength {
			forms = append(forms, newForm(code(old, offset), code(value, offset), offset, end))
		}
	}
	return forms
}

// newForm makes the form of bits from offset to end.
func newForm(old, value []byte, offset, end int) Form {
	delta := make([]byte, len(old))
	for i := range old {
		delta[i] = old[i] ^ value[i]
	}
	f := Form{Old: old, Delta: secret.New(delta), First: 0xff >> offset, Last: 0xff, KeyAt: (offset + 7) / 8}
	if rest := end % 8; rest != 0 {
		f.Last <<= 8 - rest
	}
	copy(f.Key[:], old[f.KeyAt:])
	return f
}

// Match reports whether a text begins with the form.
func (f *Form) Match(text []byte) bool {
	n := len(f.Old)
	if len(text) < n || text[0]&f.First != f.Old[0] || text[n-1]&f.Last != f.Old[n-1] {
		return false
	}
	return string(text[1:n-1]) == string(f.Old[1:n-1])
}

// Hit is a form that was found in a text.
type Hit struct {
	At   int
	Form *Form
}

// Find finds forms in a text, in order. They do not overlap, but a Huffman code may end
// in the byte that the next begins in. The form that belongs to a key comes from
// lookup, nil if there is none.
func Find(text []byte, lookup func(Key) *Form) []Hit {
	var hits []Hit
	end, last := 0, byte(0xff) // of the last hit, and its bits in the last byte
	for i := 0; i+KeyLength <= len(text); i++ {
		f := lookup(Key(text[i : i+KeyLength]))
		if f == nil {
			continue
		}
		at := i - f.KeyAt
		behind := at >= end || at >= 0 && at == end-1 && last&f.First == 0
		if behind && f.Match(text[at:]) {
			hits = append(hits, Hit{At: at, Form: f})
			end, last = at+len(f.Old), f.Last
			i = end - 1
		}
	}
	return hits
}
