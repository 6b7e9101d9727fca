package leaks

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

const (
	// window is how many bytes of a secret in a row count as a leak.
	window = 8

	// stride is the size of the pieces of long texts. One that shows twice as many
	// characters in a row is sure to be found.
	stride = 16
)

// Index finds pieces of secrets in text, in whatever way they may have got
// there: as they are, quoted, in hexadecimal, as numbers, in base64 of any
// alignment, and in base64 once more, as a Secret's data is shown.
type Index struct {
	pieces map[string]string // what a piece of text gives away, by its content
	starts map[uint32][]int  // lengths of the pieces that begin with these four bytes
	sieve  [1 << 10]uint64   // which four bytes may begin a piece, by their hash
}

// Empty reports whether the index knows no secret.
func (x *Index) Empty() bool { return len(x.pieces) == 0 }

// AddText makes the index know a text, such as a signature in base64, as it is and in
// no other form. It is for secrets that are long and many: it knows fewer pieces of it.
func (x *Index) AddText(name, text string) { x.pieces16(name, "", text) }

// AddToken makes the index know a text as it is, in hexadecimal and in base64, by fewer
// pieces than Add.
func (x *Index) AddToken(name, token string) {
	x.pieces16(name, "", token)
	x.pieces16(name, " in hexadecimal", hex.EncodeToString([]byte(token)))
	for skipped := range 3 {
		x.pieces16(name, " in base64", inner(base64.StdEncoding, []byte(token), skipped))
	}
}

// pieces16 adds one piece of a text after the other.
func (x *Index) pieces16(name, how, text string) {
	for at := 0; at+stride <= len(text); at += stride {
		x.piece(name, how, text[at:at+stride])
	}
}

// Add makes the index know a secret, which is called by a name.
func (x *Index) Add(name string, raw []byte) {
	line := []byte(base64.StdEncoding.EncodeToString(raw))
	x.windows(name, "", string(raw), window)
	x.windows(name, " in hexadecimal", hex.EncodeToString(raw), 2*window)
	x.windows(name, " in hexadecimal", strings.ToUpper(hex.EncodeToString(raw)), 2*window)
	for at := 0; at+window <= len(raw); at++ {
		part := raw[at : at+window]
		for _, quoted := range []string{strconv.Quote(string(part)), strconv.QuoteToASCII(string(part))} {
			x.piece(name, " quoted", quoted[1:len(quoted)-1])
		}
		x.piece(name, " as numbers", strings.Trim(fmt.Sprint(part), "[]"))
		x.piece(name, " as numbers", strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", part), "[]byte{"), "}"))
	}
	for skipped := range 3 {
		x.windows(name, " in base64", inner(base64.StdEncoding, raw, skipped), 10)
		x.windows(name, " in base64", inner(base64.URLEncoding, raw, skipped), 10)
		x.windows(name, " in base64, twice", inner(base64.StdEncoding, line, skipped), 14)
	}
}

// inner encodes data that comes after so many other bytes, without the
// characters that depend on what is before or after.
func inner(encoding *base64.Encoding, data []byte, before int) string {
	text := encoding.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, before), data...))
	const bits = 6
	from := (8*before + bits - 1) / bits
	return text[from : 8*(before+len(data))/bits]
}

// windows adds every window of a text that shows a key.
func (x *Index) windows(name, how, text string, size int) {
	for at := 0; at+size <= len(text); at++ {
		x.piece(name, how, text[at:at+size])
	}
}

func (x *Index) piece(name, how, text string) {
	if x.pieces == nil {
		x.pieces, x.starts = map[string]string{}, map[uint32][]int{}
	}
	if _, known := x.pieces[text]; known {
		return
	}
	x.pieces[text] = name + how
	start := first(text)
	for _, size := range x.starts[start] {
		if size == len(text) {
			return
		}
	}
	x.starts[start] = append(x.starts[start], len(text))
	word, bit := hole(start)
	x.sieve[word] |= bit
}

// hole is where four bytes fall through the sieve, if a piece begins with them.
func hole(start uint32) (word int, bit uint64) {
	h := start * 2654435761 >> 16 // Knuth's multiplicative hash
	return int(h >> 6), 1 << (h & 63)
}

func first(text string) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
}

// Find says which secret a text gives away, and how, or returns "".
func (x *Index) Find(text []byte) string { return find(x, text) }

// FindIn is Find for a string.
func (x *Index) FindIn(text string) string { return find(x, text) }

func find[T string | []byte](x *Index, text T) string {
	var next uint32
	for at := range len(text) {
		next = next>>8 | uint32(text[at])<<24
		if word, bit := hole(next); x.sieve[word]&bit == 0 {
			continue
		}
		from := at - 3
		for _, size := range x.starts[next] {
			if from >= 0 && from+size <= len(text) {
				if piece, found := x.pieces[string(text[from:from+size])]; found {
					return piece
				}
			}
		}
	}
	return ""
}
