package hsm

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Config says which key is used. All fields are required.
type Config struct {
	Module  string // the path of the library of the token's maker
	Token   string // the label of the token
	Key     string // the label of the key
	PINFile string // file with the user's PIN, which is open to nobody else
}

// labelMax is the longest label of a token.
const labelMax = 32

func (c *Config) validate() error {
	switch {
	case !filepath.IsAbs(c.Module):
		return fmt.Errorf("the module %q is no absolute path of a library", c.Module)
	case c.Token == "" || len(c.Token) > labelMax:
		return errors.New("the label of the token has to have 1 to 32 bytes")
	case c.Key == "" || len(c.Key) > 128 || strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("the label %q of the key is not one word of 1 to 128 bytes", c.Key)
	case c.PINFile == "":
		return errors.New("there has to be a file with the PIN")
	}
	return nil
}
