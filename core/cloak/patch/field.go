package patch

import "encoding/binary"

// Element is an element of GF(2^128) in the bit order of GHASH: the highest bit of Hi
// is the coefficient of x^0.
type Element struct{ Hi, Lo uint64 }

// one is the identity of multiplication.
var one = Element{Hi: 1 << 63}

// reduction is what x^128 is: 1 + x + x^2 + x^7.
const reduction = 0xe1 << 56

// NewElement reads 16 bytes, the hash key of a connection for one.
func NewElement(b [16]byte) Element {
	return Element{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// Bytes writes the element as GHASH does.
func (e Element) Bytes() (b [16]byte) {
	binary.BigEndian.PutUint64(b[:8], e.Hi)
	binary.BigEndian.PutUint64(b[8:], e.Lo)
	return b
}

// Add returns the sum, which is also the difference.
func (e Element) Add(o Element) Element { return Element{e.Hi ^ o.Hi, e.Lo ^ o.Lo} }

// Mul returns the product: 128 steps of shift and add.
func (e Element) Mul(o Element) (product Element) {
	for i := range 128 {
		word := e.Hi
		if i >= 64 {
			word = e.Lo
		}
		if word>>(63-i%64)&1 == 1 {
			product = product.Add(o)
		}
		carry := o.Lo & 1
		o.Lo = o.Lo>>1 | o.Hi<<63
		o.Hi = o.Hi>>1 ^ carry*reduction
	}
	return product
}

// Pow returns the n-th power, by squaring and multiplying.
func (e Element) Pow(n int) Element {
	power := one
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			power = power.Mul(e)
		}
		e = e.Mul(e)
	}
	return power
}

// TagDelta returns by what the tag of a ciphertext of n bytes changes when the
// ciphertext changes by delta from byte at on; both by exclusive or.
//
// The tag is a polynomial in the hash key h whose coefficients are the blocks of the
// associated data, those of the ciphertext and their lengths, plus a mask. All but the
// blocks that change cancels out, and block b of N counts with h^(N-b+1).
func TagDelta(h Element, n, at int, delta []byte) Element {
	var sum Element
	last := 0
	for i := 0; i < len(delta); {
		block, from := (at+i)/16, (at+i)%16
		var b [16]byte
		i += copy(b[from:], delta[i:])
		sum = sum.Add(NewElement(b)).Mul(h)
		last = block
	}
	return sum.Mul(h.Pow((n+15)/16 - last))
}
