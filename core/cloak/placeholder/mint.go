package placeholder

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	// Prefix begins each placeholder. It and all that follows is unreserved in URLs, so
	// that a placeholder in a query or a form is written as it is.
	Prefix = "kl--"

	// alphabet is what follows: codes of five to eight bits.
	alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

	// LengthMin and LengthMax are the shortest and the longest value that can be protected.
	LengthMin = 8
	LengthMax = 128

	bitsMin, bitsMax = 5, 8 // of the codes of the alphabet
)

// Why there can be no placeholder for a value; what [Check] returns wraps one of them.
var (
	ErrTooShort = errors.New("too short")
	ErrTooLong  = errors.New("too long")
	ErrNotText  = errors.New("not UTF-8")
	ErrMix      = errors.New("no placeholder has its length in HPACK")
)

// classes are the bytes of the alphabet by the length of their codes.
var classes = func() (classes [bitsMax + 1][]byte) {
	for _, b := range []byte(alphabet) {
		classes[codeBits[b]] = append(classes[codeBits[b]], b)
	}
	return classes
}()

var prefixBits = Bits([]byte(Prefix))

// Check reports whether there can be a placeholder for a value. The error says what
// the value would have to be like, and shows nothing of it but its length.
func Check(value []byte) error {
	if err := CheckRaw(value); err != nil {
		return err
	}
	tail := len(value) - len(Prefix)
	if bits := Bits(value) - prefixBits; bits < bitsMin*tail || bits > bitsMax*tail {
		return fmt.Errorf("%w: its mix of characters has a Huffman code that is too short or too long; "+
			"use letters of both cases and digits", ErrMix)
	}
	return nil
}

// CheckRaw is Check for a placeholder that is good outside of HPACK only, as in HTTP/1.1.
func CheckRaw(value []byte) error {
	n := len(value)
	switch {
	case n < LengthMin:
		return fmt.Errorf("%w: it has %d bytes and needs at least %d", ErrTooShort, n, LengthMin)
	case n > LengthMax:
		return fmt.Errorf("%w: it has %d bytes and may have %d at most", ErrTooLong, n, LengthMax)
	case !utf8.Valid(value):
		return fmt.Errorf("%w: write it as text, for instance in base64", ErrNotText)
	}
	return nil
}

// Mint makes a placeholder for a value: as many bytes, as many bits in HPACK's Huffman
// code, and otherwise as entropy has it. What Check refuses it refuses alike.
func Mint(entropy io.Reader, value []byte) (string, error) {
	if err := Check(value); err != nil {
		return "", err
	}
	out := []byte(Prefix)
	for bits := Bits(value) - prefixBits; len(out) < len(value); {
		left := len(value) - len(out) - 1
		// What is left for the others must stay within what their codes can have.
		lo, hi := max(bitsMin, bits-bitsMax*left), min(bitsMax, bits-bitsMin*left)
		n, err := pick(entropy, hi-lo+1)
		if err != nil {
			return "", err
		}
		class := classes[lo+n]
		if n, err = pick(entropy, len(class)); err != nil {
			return "", err
		}
		out, bits = append(out, class[n]), bits-codeBits[class[n]]
	}
	return string(out), nil
}

// MintRaw makes a placeholder that is good outside of HPACK only: as many bytes, and
// otherwise as entropy has it. What CheckRaw refuses it refuses alike.
func MintRaw(entropy io.Reader, value []byte) (string, error) {
	if err := CheckRaw(value); err != nil {
		return "", err
	}
	out := []byte(Prefix)
	for len(out) < len(value) {
		n, err := pick(entropy, len(alphabet))
		if err != nil {
			return "", err
		}
		out = append(out, alphabet[n])
	}
	return string(out), nil
}

// Suits reports whether a placeholder is the best that there can be for a value: one that
// fits in full or, if none does, in its bytes.
func Suits(p string, value []byte) bool {
	switch Fits(p, value) {
	case FitsAll:
		return true
	case FitsRaw:
		return errors.Is(Check(value), ErrMix)
	}
	return false
}

// pick draws a number below n, at most 256, each as likely as the others.
func pick(entropy io.Reader, n int) (int, error) {
	for limit := 256 - 256%n; ; {
		var b [1]byte
		if _, err := io.ReadFull(entropy, b[:]); err != nil {
			return 0, fmt.Errorf("draw a placeholder: %w", err)
		}
		if int(b[0]) < limit {
			return int(b[0]) % n, nil
		}
	}
}
