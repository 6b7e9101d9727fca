package placeholder

import (
	"strings"

	"golang.org/x/net/http2/hpack"
)

// codeBits is how many bits each byte has in HPACK's Huffman code. Eight times the
// same byte have a whole number of bytes, so that number is its bits.
var codeBits = func() (bits [256]int) {
	for b := range bits {
		bits[b] = int(hpack.HuffmanEncodeLength(strings.Repeat(string([]byte{byte(b)}), 8)))
	}
	return bits
}()

// Bits is how many bits a text has in HPACK's Huffman code, without padding.
func Bits(text []byte) int {
	n := 0
	for _, b := range text {
		n += codeBits[b]
	}
	return n
}

// code returns the Huffman code of a text, beginning at bit offset of the first byte.
// All bits around it are zero.
func code(text []byte, offset int) []byte {
	end := offset + Bits(text)
	out := make([]byte, (end+7)/8)
	for i, b := range hpack.AppendHuffmanString(nil, string(text)) {
		// Past the end is only padding.
		if i < len(out) {
			out[i] |= b >> offset
		}
		if i+1 < len(out) {
			out[i+1] |= b << (8 - offset)
		}
	}
	mask(out, offset, end)
	return out
}

// mask clears the bits before offset and from end on.
func mask(b []byte, offset, end int) {
	b[0] &= 0xff >> offset
	if rest := end % 8; rest != 0 {
		b[len(b)-1] &= 0xff << (8 - rest)
	}
}
