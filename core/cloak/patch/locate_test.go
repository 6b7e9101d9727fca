package patch_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
)

// rec is a record of a type whose body has a length.
func rec(kind byte, length int) []byte {
	return append([]byte{kind, 3, 3, byte(length >> 8), byte(length)}, make([]byte, length)...)
}

func join(records ...[]byte) (out []byte) {
	for _, r := range records {
		out = append(out, r...)
	}
	return out
}

// Section 3.2, step 2: which record of a buffer holds what was written.
func TestLocate(t *testing.T) {
	none, two := patch.ErrNoRecord, patch.ErrAmbiguous
	full := patch.PlaintextMax
	for _, tc := range []struct {
		row         string
		buf         []byte
		total, done int
		version     patch.Version
		want        []int // where records begin
		err         error
	}{
		{"TLS 1.3", rec(0x17, 117), 100, 0, patch.TLS13, []int{0}, nil},
		{"TLS 1.2", rec(0x17, 124), 100, 0, patch.TLS12, []int{0}, nil},
		{"unknown version, as long as in 1.3", rec(0x17, 117), 100, 0, 0, []int{0}, nil},
		{"unknown version, as long as in 1.2", rec(0x17, 124), 100, 0, 0, nil, none},
		{"seven bytes of padding in TLS 1.3", rec(0x17, 124), 100, 0, patch.TLS13, nil, none},
		{"another length", rec(0x17, 118), 100, 0, patch.TLS13, nil, none},
		{"behind a finished handshake, as Node sends it", join(rec(0x14, 1), rec(0x17, 53), rec(0x17, 117)), 100, 0, patch.TLS13, []int{64}, nil},
		{"behind alerts and a handshake", join(rec(0x15, 2), rec(0x16, 117), rec(0x17, 117)), 100, 0, patch.TLS13, []int{129}, nil},
		{"two of the same length", join(rec(0x17, 117), rec(0x17, 117)), 100, 0, patch.TLS13, nil, two},
		{"a handshake of the same length", join(rec(0x16, 117), rec(0x17, 117)), 100, 0, patch.TLS13, []int{122}, nil},
		{"nothing", nil, 100, 0, patch.TLS13, nil, none},
		{"no record at all", []byte("GET / HTTP/1.1\r\n"), 100, 0, patch.TLS13, nil, none},
		{"half a header", []byte{0x17, 3, 3}, 100, 0, patch.TLS13, nil, none},
		{"a record that is not whole", rec(0x17, 117)[:121], 100, 0, patch.TLS13, nil, none},
		{"one that is whole before one that is not", join(rec(0x17, 117), rec(0x17, 60)[:40]), 100, 0, patch.TLS13, nil, none},
		{"two pieces", join(rec(0x17, full+17), rec(0x17, 1017)), full + 1000, 0, patch.TLS13, []int{0, full + 22}, nil},
		{"the first of two pieces alone", rec(0x17, full+17), full + 1000, 0, patch.TLS13, []int{0}, nil},
		{"the second of two pieces alone", rec(0x17, 1017), full + 1000, full, patch.TLS13, []int{0}, nil},
		{"the second piece where the first is awaited", rec(0x17, 1017), full + 1000, 0, patch.TLS13, nil, none},
		{"two full pieces look like the first and the second", join(rec(0x17, full+17), rec(0x17, full+17)), 2 * full, 0, patch.TLS13, nil, two},
		{"all was sent before", rec(0x17, 117), 100, 100, patch.TLS13, nil, none},
		{"a record without text", rec(0x17, 17), 0, 0, patch.TLS13, nil, none},
		{"a record shorter than a tag", rec(0x17, 3), 1, 0, patch.TLS12, nil, none},
		{"the sixteenth record", join(many(15), rec(0x17, 117)), 100, 0, patch.TLS13, []int{15 * 7}, nil},
		{"the seventeenth record", join(many(16), rec(0x17, 117)), 100, 0, patch.TLS13, nil, none},
	} {
		parts, err := patch.Locate(tc.buf, tc.total, tc.done, tc.version)
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", tc.row, err, tc.err)
		}
		var at []int
		from := tc.done
		for _, p := range parts {
			at = append(at, p.At)
			if p.From != from || p.At+p.Size() > len(tc.buf) {
				t.Errorf("%s: %+v", tc.row, p)
			}
			from += p.Length
		}
		if diff := cmp.Diff(tc.want, at); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.row, diff)
		}
	}
}

func many(n int) (out []byte) {
	for range n {
		out = append(out, rec(0x15, 2)...)
	}
	return out
}

// Whatever is in a buffer, what is located lies within it.
func FuzzLocate(f *testing.F) {
	f.Add(rec(0x17, 117), 100, 0, uint16(patch.TLS13))
	f.Add(join(rec(0x14, 1), rec(0x17, 53), rec(0x17, 124)), 100, 0, uint16(patch.TLS12))
	f.Add([]byte{0x17, 3, 3}, -1, 7, uint16(0))
	f.Fuzz(func(t *testing.T, buf []byte, total, done int, version uint16) {
		parts, err := patch.Locate(buf, total, done, patch.Version(version))
		if (err == nil) != (len(parts) > 0) {
			t.Fatalf("%d parts and %v", len(parts), err)
		}
		from := done
		for _, p := range parts {
			inside := p.At >= 0 && p.Cipher > p.At && p.N >= p.Length && p.Length > 0 && p.At+p.Size() <= len(buf)
			if !inside || buf[p.At] != 0x17 || p.From != from || p.From+p.Length > total {
				t.Fatalf("%+v of %d bytes", p, len(buf))
			}
			from += p.Length
			if _, err := patch.NewEntry(patch.Element{Hi: 1}, buf, 0, p, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}
