package patch_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
)

// internet is the checksum of RFC 1071.
func internet(b []byte) uint16 {
	var sum uint32
	for i, v := range b {
		if i%2 == 0 {
			sum += uint32(v) << 8
		} else {
			sum += uint32(v)
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// Section 3.2: the checksum follows changes at odd places too.
func TestChecksum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packet := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "packet")
		packet[0] |= 1 // the sum of zeros has two forms
		at := rapid.IntRange(0, len(packet)-1).Draw(t, "at")
		fresh := rapid.SliceOfN(rapid.Byte(), 0, len(packet)-at).Draw(t, "fresh")
		if at == 0 && len(fresh) > 0 {
			fresh[0] |= 1
		}
		after := bytes.Clone(packet)
		copy(after[at:], fresh)
		if got, want := patch.Checksum(internet(packet), at, packet[at:at+len(fresh)], fresh), internet(after); got != want {
			t.Fatalf("%04x, want %04x", got, want)
		}
	})
}
