package grant

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// TokenMax is the size of the largest token, in bytes.
const TokenMax = 8 << 10

// ErrMalformed is wrapped by errors about tokens that are no grant, whoever signed
// them.
var ErrMalformed = errors.New("the token is no grant")

// Peeked is what a token says of itself. Nobody has verified it.
type Peeked struct {
	UID      string    // of the grant
	Expires  time.Time // zero: never
	IssuedAt time.Time // zero: it does not say
}

// Expired reports whether the lease has ended.
func (p Peeked) Expired(now time.Time) bool { return !p.Expires.IsZero() && !p.Expires.After(now) }

// Peek reads a token without verifying it. Errors do not show the token.
func Peek(token []byte) (Peeked, error) {
	if len(token) > TokenMax {
		return Peeked{}, fmt.Errorf("%w: it is larger than %d bytes", ErrMalformed, TokenMax)
	}
	parts := bytes.Split(bytes.TrimSpace(token), []byte("."))
	if len(parts) != 3 {
		return Peeked{}, fmt.Errorf("%w: a compact token has three parts", ErrMalformed)
	}
	payload, err := base64.RawURLEncoding.DecodeString(string(parts[1]))
	if err != nil {
		return Peeked{}, fmt.Errorf("%w: its second part is not base64url", ErrMalformed)
	}
	var claims registered
	if json.Unmarshal(payload, &claims) != nil {
		return Peeked{}, fmt.Errorf("%w: its second part is no JSON object of claims", ErrMalformed)
	}
	return claims.peeked()
}

// registered are claims of RFC 7519.
type registered struct {
	Issuer   string       `json:"iss"`
	Audience audience     `json:"aud"`
	ID       string       `json:"jti"`
	Expires  *json.Number `json:"exp"`
	IssuedAt *json.Number `json:"iat"`
}

// audience is one text or a list of them.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audience{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*a = list
	return nil
}

func (r *registered) peeked() (Peeked, error) {
	p := Peeked{UID: r.ID}
	for _, t := range []struct {
		name string
		from *json.Number
		to   *time.Time
	}{{"exp", r.Expires, &p.Expires}, {"iat", r.IssuedAt, &p.IssuedAt}} {
		if t.from == nil {
			continue
		}
		seconds, err := t.from.Float64()
		if err != nil || seconds < 0 || seconds > maxSeconds {
			return Peeked{}, fmt.Errorf("%w: its %s is no time", ErrMalformed, t.name)
		}
		whole, part := math.Modf(seconds)
		*t.to = time.Unix(int64(whole), int64(part*1e9)).UTC()
	}
	return p, nil
}

// maxSeconds is the end of the year 9999, the last that RFC 3339 can name.
const maxSeconds = 253402300799
