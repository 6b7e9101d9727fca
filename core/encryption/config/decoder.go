package config

import (
	"bytes"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

// rememberedMax is how many configurations a [Decoder] remembers: more than there
// usually are revisions.
const rememberedMax = 8

// Decoder is [Decode] for those who look at the same few configurations again and again:
// it remembers the last that it has seen, by what is in them. The zero Decoder is ready,
// and nil one that remembers nothing. It is safe for concurrent use.
type Decoder struct {
	mu         sync.Mutex
	remembered []remembered // in a ring
	next       int
}

type remembered struct {
	data map[string][]byte
	on   state.State
}

// Decode is [Decode]. The state is shared from then on, and may not be changed.
func (d *Decoder) Decode(s *corev1.Secret) (state.State, error) {
	if d == nil {
		return Decode(s)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.remembered {
		if r := &d.remembered[i]; maps.EqualFunc(r.data, s.Data, bytes.Equal) {
			return r.on, nil
		}
	}
	on, err := Decode(s)
	if err != nil {
		return nil, err
	}
	if r := (remembered{maps.Clone(s.Data), on}); len(d.remembered) < rememberedMax {
		d.remembered = append(d.remembered, r)
	} else {
		d.remembered[d.next], d.next = r, (d.next+1)%rememberedMax
	}
	return on, nil
}
