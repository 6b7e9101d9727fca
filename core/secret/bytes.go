package secret

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Bytes are secret. They do not change, so copies may be shared between
// goroutines. The zero Bytes are no bytes.
type Bytes struct {
	// Inside a function, since fmt and go-cmp print what they find in unexported
	// fields without calling a method.
	hidden func() string
}

// New copies b.
func New(b []byte) Bytes {
	if len(b) == 0 {
		return Bytes{}
	}
	s := string(b)
	return Bytes{func() string { return s }}
}

// Reveal returns a copy of the bytes, which the caller must not show.
func (b Bytes) Reveal() []byte {
	if b.hidden == nil {
		return nil
	}
	return []byte(b.hidden())
}

// Len is the number of bytes.
func (b Bytes) Len() int {
	if b.hidden == nil {
		return 0
	}
	return len(b.hidden())
}

// Equal reports whether both hold the same bytes. It takes the same time for all
// bytes of one length.
func (b Bytes) Equal(other Bytes) bool {
	if b.hidden == nil || other.hidden == nil {
		return b.Len() == other.Len()
	}
	return subtle.ConstantTimeCompare([]byte(b.hidden()), []byte(other.hidden())) == 1
}

// String says how many bytes there are.
func (b Bytes) String() string { return fmt.Sprintf("[%d secret bytes]", b.Len()) }

// GoString is String.
func (b Bytes) GoString() string { return b.String() }

// Format makes every verb of fmt print String.
func (b Bytes) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, b.String()) }

// LogValue makes log/slog show String.
func (b Bytes) LogValue() slog.Value { return slog.StringValue(b.String()) }

// MarshalLog makes logr show String.
func (b Bytes) MarshalLog() any { return b.String() }

// MarshalText makes encoders of JSON and YAML show String. It is no encoding.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
