package encryption

import (
	"errors"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Transformer seals and opens the values of one resource. The first of its providers
// seals. To open, each whose prefix the value has is tried in order, and an error of one
// does not keep the next from being tried.
type Transformer struct{ providers []provider }

// provider is one element of a list of providers.
type provider interface {
	// prefix is how its values begin; empty for identity.
	prefix() string

	// read reports whether a value that is at path, and has the prefix, can be opened,
	// and whether this provider would seal it in another way now.
	read(path string, v *Value) (stale bool, took time.Duration, err error)

	// open is read with the text; rest is what comes after the prefix.
	open(path string, rest []byte) (text []byte, stale bool, took time.Duration, err error)

	// seal seals text as the value at path; nil is text in clear.
	seal(path string, text []byte) (*Value, error)
}

var (
	errNoPrefix  = errors.New("no matching prefix found")
	errEncrypted = errors.New("identity transformer tried to read encrypted data")
)

// Read reports whether the value v at path can be opened, and whether it is stale: a
// write should be made although nothing has changed, as it was not sealed in the way in
// which it would be now. Took is how long plugins took to answer.
func (t *Transformer) Read(path string, v *Value) (stale bool, took time.Duration, err error) {
	var errs []error
	for i, p := range t.providers {
		prefix := p.prefix()
		if prefix == "" {
			if v == nil {
				return i != 0, took, nil
			}
			continue // it is no error that identity cannot open it, another may
		}
		if v == nil || !v.hasPrefix(prefix) {
			continue
		}
		stale, d, err := p.read(path, v)
		took += d
		if err != nil {
			errs = append(errs, err)
			continue
		}
		return stale || i != 0, took, nil
	}
	return false, took, t.unreadable(v, errs)
}

func (t *Transformer) unreadable(v *Value, errs []error) error {
	switch {
	case len(errs) > 0:
		return utilerrors.Reduce(utilerrors.NewAggregate(errs))
	case v != nil && t == checkOnly:
		return errEncrypted
	default:
		return errNoPrefix
	}
}

// Open opens stored bytes. It is for those who want to see the text; to know whether
// there is one, [Transformer.Read] is much cheaper.
func (t *Transformer) Open(path string, data []byte) (text []byte, stale bool, took time.Duration, err error) {
	v := Parse(data)
	var errs []error
	for i, p := range t.providers {
		prefix := p.prefix()
		switch {
		case prefix == "" && v == nil:
			return data, i != 0, took, nil
		case prefix == "" || v == nil || !v.hasPrefix(prefix):
			continue
		}
		text, stale, d, err := p.open(path, data[len(prefix):])
		took += d
		if err != nil {
			errs = append(errs, err)
			continue
		}
		return text, stale || i != 0, took, nil
	}
	return nil, false, took, t.unreadable(v, errs)
}

// Seals reports whether values are sealed at all: otherwise Write returns nil.
func (t *Transformer) Seals() bool { return t.providers[0].prefix() != "" }

// Write seals text as the value at path. It is nil if values are stored in clear.
func (t *Transformer) Write(path string, text []byte) (*Value, error) {
	return t.providers[0].seal(path, text)
}

// identity leaves values as they are, and opens none that are sealed.
type identity struct{}

func (identity) prefix() string { return "" }

func (identity) read(string, *Value) (stale bool, took time.Duration, err error) {
	return false, 0, errEncrypted
}

func (identity) open(string, []byte) (text []byte, stale bool, took time.Duration, err error) {
	return nil, false, 0, errEncrypted
}

func (identity) seal(string, []byte) (*Value, error) { return nil, nil }

// checkOnly is for resources that no configuration mentions.
var checkOnly = &Transformer{providers: []provider{identity{}}}
