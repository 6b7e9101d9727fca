package grant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/seedbed-sim/seedbed/core/secret"
)

var (
	// ErrForged is wrapped by errors about tokens that the issuer has not signed for
	// this home.
	ErrForged = errors.New("the token is not the issuer's word for this home")

	// ErrUnverifiable is wrapped by errors about tokens that may be genuine: the
	// keys of the issuer are too old to tell. Who asked should come back later.
	ErrUnverifiable = errors.New("nobody can tell now whether the token is genuine")
)

// algorithms are those that issuers may sign with.
var algorithms = []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256}

// Verifier says which grants are genuine. It may be used from several tasks.
type Verifier struct {
	// Issuer is who must have signed, and Audience for whom. Required. A slash at the
	// end of the issuer's URL makes no difference.
	Issuer, Audience string

	// Keys are those of the issuer. Required.
	Keys *Cache
}

// Verify returns the grant in a token. Errors wrap [ErrMalformed], [ErrForged] or
// [ErrUnverifiable], and do not show the token. It may ask the issuer for a key that it
// does not know.
func (v *Verifier) Verify(ctx context.Context, token secret.Bytes) (Grant, error) {
	if token.Len() > TokenMax {
		return Grant{}, fmt.Errorf("%w: it is larger than %d bytes", ErrMalformed, TokenMax)
	}
	signed, err := jose.ParseSignedCompact(string(bytes.TrimSpace(token.Reveal())), algorithms)
	if err != nil {
		// What the library says may quote the token.
		return Grant{}, fmt.Errorf("%w: it is no compact token that is signed with one of %v", ErrMalformed, algorithms)
	}
	header := signed.Signatures[0].Protected
	switch typ, ok := header.ExtraHeaders[jose.HeaderType].(string); {
	case header.KeyID == "":
		return Grant{}, fmt.Errorf("%w: it does not name its key", ErrMalformed)
	case !ok || typ != "JWT":
		return Grant{}, fmt.Errorf("%w: its type is not JWT", ErrMalformed)
	}
	key, err := v.Keys.key(ctx, header.KeyID)
	if err != nil {
		return Grant{}, err
	}
	payload, err := signed.Verify(key)
	if err != nil {
		return Grant{}, fmt.Errorf("%w: the signature is not that of its key", ErrForged)
	}
	var c claims
	if json.Unmarshal(payload, &c) != nil {
		return Grant{}, fmt.Errorf("%w: its payload is no JSON object of claims", ErrMalformed)
	}
	if err := c.check(); err != nil {
		return Grant{}, err
	}
	switch {
	case strings.TrimRight(c.Issuer, "/") != strings.TrimRight(v.Issuer, "/"):
		return Grant{}, fmt.Errorf("%w: it is of another issuer", ErrForged)
	case c.Audience[0] != v.Audience:
		return Grant{}, fmt.Errorf("%w: it is for another home", ErrForged)
	}
	return *c.Grant, nil
}
