package gossipkeys

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// KeyName is what a scenario calls a key: a word such as K1 for one of 32 bytes,
// or K1/16 for one of another size. Two names are two keys; one name is the same
// key in every run.
type KeyName string

// ParseText refuses what is no name.
func (n *KeyName) ParseText(text string) error {
	*n = KeyName(text)
	_, err := n.size()
	return err
}

// Syntax implements the description for messages and the schema.
func (KeyName) Syntax() scenarios.Syntax {
	return scenarios.Syntax{Doc: "a name of a key such as K1, or K1/16 for one of 16 bytes", Pattern: `^[^/{}\s]+(/(16|24|32))?$`, Examples: []string{"K1", "K1/16"}}
}

var keyWord = regexp.MustCompile(`^[^/{}\s]+$`)

// size is that of the key in bytes.
func (n KeyName) size() (int, error) {
	word, text, sized := strings.Cut(string(n), "/")
	if keyWord.MatchString(word) {
		switch {
		case !sized || text == "32":
			return 32, nil
		case text == "24":
			return 24, nil
		case text == "16":
			return 16, nil
		}
	}
	return 0, fmt.Errorf("%q is no name of a key; write a word such as K1, or K1/16 for one of 16 bytes (16, 24 or 32)", string(n))
}

// SecretText is text for the entry of the Secret in which {K1} stands for the
// key K1, as it is written there.
type SecretText string

// ParseText refuses names in braces that are no names of keys.
func (s *SecretText) ParseText(text string) error {
	*s = SecretText(text)
	var errs []error
	s.fill(func(name KeyName) []byte {
		_, err := name.size()
		errs = append(errs, err)
		return nil
	})
	return errors.Join(errs...)
}

// Syntax implements the description for messages and the schema.
func (SecretText) Syntax() scenarios.Syntax {
	return scenarios.Syntax{Doc: "any text, in which {K1} stands for the key K1", Examples: []string{"garbage", "{K1}\n{K2}\n"}}
}

// keyPlace is where a text names a key.
var keyPlace = regexp.MustCompile(`\{([^{}]*)\}`)

// fill puts what key returns in the places of names.
func (s SecretText) fill(key func(KeyName) []byte) []byte {
	return keyPlace.ReplaceAllFunc([]byte(s), func(place []byte) []byte {
		return key(KeyName(place[1 : len(place)-1]))
	})
}
