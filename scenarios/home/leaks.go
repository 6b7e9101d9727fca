package home

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// piece is how many characters of a secret in a row are looked for. A text that holds
// twice as many in a row is sure to be found.
const piece = 16

// leakIndex finds pieces of tokens in text: as they are, in hexadecimal, and in base64
// of any alignment.
type leakIndex struct {
	pieces map[string]string // what a piece gives away
}

// add makes the index know a secret.
func (x *leakIndex) add(name, secret string) {
	x.cut(name, secret)
	x.cut(name+" in hexadecimal", hex.EncodeToString([]byte(secret)))
	for skipped := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, skipped), secret...))
		x.cut(name+" in base64", text[4:max(4, len(text)-4)])
	}
}

// addGrant makes the index know a grant. Of a token it is the signature that nobody
// else can make; it is in base64 already.
func (x *leakIndex) addGrant(token string) {
	if at := strings.LastIndexByte(token, '.'); at >= 0 {
		x.cut("a grant", token[at+1:])
	}
}

func (x *leakIndex) cut(name, text string) {
	if x.pieces == nil {
		x.pieces = map[string]string{}
	}
	for at := 0; at+piece <= len(text); at += piece {
		x.pieces[text[at:at+piece]] = name
	}
}

// find says what a text gives away, or returns nil.
func (x *leakIndex) find(text []byte) error {
	if len(x.pieces) == 0 {
		return nil
	}
	for at := 0; at+piece <= len(text); at++ {
		if name, found := x.pieces[string(text[at:at+piece])]; found {
			return fmt.Errorf("a piece of %s", name)
		}
	}
	return nil
}
