package cloak

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// ValueName is what a scenario calls the value of a secret: a word such as V1 for one of
// 24 characters, or V1/40 for one of another length. V1~ has the characters of V1 in
// another order, and so the same lengths in all codes.
type ValueName string

var valueWord = regexp.MustCompile(`^[A-Za-z0-9]+(/[0-9]{1,3})?~?$`)

const valueLength = 24

// ParseText refuses what is no name.
func (n *ValueName) ParseText(text string) error {
	*n = ValueName(text)
	if !valueWord.MatchString(text) {
		return fmt.Errorf("%q is no name of a value; write a word such as V1, V1/40 for one of 40 characters, V1~ for the same characters in another order", text)
	}
	return nil
}

// Syntax implements the description for messages and the schema.
func (ValueName) Syntax() scenarios.Syntax {
	return scenarios.Syntax{Doc: "a name of a value such as V1, or V1/40 for one of 40 characters; V1~ has those of V1 in another order", Pattern: valueWord.String(), Examples: []string{"V1", "V1/40", "V1~"}}
}

const valueCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// value returns the value that a name stands for, the same in every run.
func (n ValueName) value() []byte {
	name, turned := strings.CutSuffix(string(n), "~")
	length := valueLength
	if _, text, sized := strings.Cut(name, "/"); sized {
		length, _ = strconv.Atoi(text) // digits
	}
	for salt := 0; ; salt++ {
		out := make([]byte, 0, length)
		for block := 0; len(out) < length; block++ {
			for _, b := range sha256.Sum256(fmt.Appendf(nil, "%s %d %d", name, salt, block)) {
				if len(out) < length {
					out = append(out, valueCharacters[int(b)%len(valueCharacters)])
				}
			}
		}
		// Few mixes of characters cannot have a placeholder; values that are to be
		// refused for their length are as they come.
		if length < placeholder.LengthMin || length > placeholder.LengthMax || placeholder.Check(out) == nil {
			if turned {
				slices.Reverse(out)
			}
			return out
		}
	}
}
