package patch_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
)

var elements = rapid.Custom(func(t *rapid.T) patch.Element {
	return patch.Element{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
})

// The laws of a field, section 3.1.
func TestField(t *testing.T) {
	one, zero := patch.Element{Hi: 1 << 63}, patch.Element{}
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := elements.Draw(t, "a"), elements.Draw(t, "b"), elements.Draw(t, "c")
		m, n := rapid.IntRange(0, 1100).Draw(t, "m"), rapid.IntRange(0, 1100).Draw(t, "n")
		for law, same := range map[string][2]patch.Element{
			"a·1 = a":                     {a.Mul(one), a},
			"a·0 = 0":                     {a.Mul(zero), zero},
			"a·b = b·a":                   {a.Mul(b), b.Mul(a)},
			"(a·b)·c = a·(b·c)":           {a.Mul(b).Mul(c), a.Mul(b.Mul(c))},
			"a·(b+c) = a·b + a·c":         {a.Mul(b.Add(c)), a.Mul(b).Add(a.Mul(c))},
			"(a+b)² = a² + b²":            {a.Add(b).Pow(2), a.Pow(2).Add(b.Pow(2))},
			"a^m · a^n = a^(m+n)":         {a.Pow(m).Mul(a.Pow(n)), a.Pow(m + n)},
			"bytes read back":             {patch.NewElement(a.Bytes()), a},
			"a^(2^128) = a, by squarings": {squared(a), a},
		} {
			if same[0] != same[1] {
				t.Errorf("%s: %x, %x", law, same[0], same[1])
			}
		}
	})
}

func squared(a patch.Element) patch.Element {
	for range 128 {
		a = a.Mul(a)
	}
	return a
}

// The product of the example in NIST's GCM specification, test case 2: the hash key
// times the only block of the ciphertext.
func TestMulOfTheSpecification(t *testing.T) {
	h := patch.Element{Hi: 0x66e94bd4ef8a2c3b, Lo: 0x884cfa59ca342b2e}
	c := patch.Element{Hi: 0x0388dace60b6a392, Lo: 0xf328c2b971b2fe78}
	want := patch.Element{Hi: 0x5e2ec74691706288, Lo: 0x2c85b0685353deb7}
	if got := c.Mul(h); got != want {
		t.Errorf("%x, want %x", got, want)
	}
}

// Horner over consecutive blocks comes to what the sum says term by term.
func TestTagDeltaIsTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := elements.Draw(t, "h")
		n := rapid.IntRange(1, 16401).Draw(t, "n")
		at := rapid.IntRange(0, n-1).Draw(t, "at")
		delta := make([]byte, rapid.IntRange(1, min(137, n-at)).Draw(t, "length"))
		fill(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), delta)
		blocks := make([][16]byte, (n+15)/16)
		for i, d := range delta {
			blocks[(at+i)/16][(at+i)%16] = d
		}
		var want patch.Element
		for b, block := range blocks {
			if block != [16]byte{} {
				want = want.Add(patch.NewElement(block).Mul(h.Pow(len(blocks) - b + 1)))
			}
		}
		if diff := cmp.Diff(want, patch.TagDelta(h, n, at, delta)); diff != "" {
			t.Errorf("%d bytes at %d of %d (-want +got):\n%s", len(delta), at, n, diff)
		}
	})
}
