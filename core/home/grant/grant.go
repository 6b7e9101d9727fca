package grant

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Grant is a CapacityGrant, in the names of its JSON form.
type Grant struct {
	UID            string `json:"grantUid"`
	Issuer         string `json:"issuer"`
	Audience       string `json:"audience"`
	TemplateDigest string `json:"templateDigest"`
	Fibers         Fibers `json:"fibers"`

	// WBudgetBytes bounds what the workers write.
	WBudgetBytes Int64  `json:"wBudgetBytes,omitempty"`
	MinTier      string `json:"minTier,omitempty"`

	// LeaseExpiry is when the grant ends; nil means never.
	LeaseExpiry *time.Time `json:"leaseExpiry,omitempty"`

	Policy       json.RawMessage `json:"policy,omitempty"`
	DeviceBudget json.RawMessage `json:"deviceBudget,omitempty"`
}

// Fibers is how many workers may run, and how many are kept ready.
type Fibers struct {
	Max  uint32 `json:"max,omitempty"`
	Warm uint32 `json:"warm,omitempty"`
}

// Int64 is a number that JSON of protocol buffers has as text. Both forms are read.
type Int64 int64

// MarshalJSON implements json.Marshaler.
func (i Int64) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(strconv.FormatInt(int64(i), 10))), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *Int64) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is no 64-bit number", data)
	}
	*i = Int64(n)
	return nil
}

// Lapsed reports whether the lease has ended.
func (g *Grant) Lapsed(now time.Time) bool { return g.LeaseExpiry != nil && !g.LeaseExpiry.After(now) }

// claims are those of a grant's token.
type claims struct {
	registered
	Grant        *Grant `json:"grant"`
	Confirmation struct {
		Certificate string `json:"x5t#S256"`
	} `json:"cnf"`
}

// check reports whether the claims agree with each other.
func (c *claims) check() error {
	p, err := c.peeked()
	switch {
	case err != nil:
		return err
	case c.Grant == nil:
		return fmt.Errorf("%w: it has no claim named grant", ErrMalformed)
	case len(c.Audience) != 1:
		return fmt.Errorf("%w: it is for %d audiences, not for one", ErrMalformed, len(c.Audience))
	case len(validation.IsDNS1123Label(c.ID)) > 0:
		return fmt.Errorf("%w: its jti is no DNS label", ErrMalformed)
	}
	g := c.Grant
	for _, agree := range []struct {
		claim, field string
		same         bool
	}{
		{"jti", "grantUid", c.ID == g.UID},
		{"iss", "issuer", c.Issuer == g.Issuer},
		{"aud", "audience", c.Audience[0] == g.Audience},
		{"exp", "leaseExpiry", sameSecond(p.Expires, g.LeaseExpiry)},
	} {
		if !agree.same {
			return fmt.Errorf("%w: its %s and its grant's %s differ", ErrMalformed, agree.claim, agree.field)
		}
	}
	return nil
}

func sameSecond(a time.Time, b *time.Time) bool {
	if b == nil {
		return a.IsZero()
	}
	return !a.IsZero() && a.Unix() == b.Unix()
}
