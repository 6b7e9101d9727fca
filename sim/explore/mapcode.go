package explore

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// encodedStates is how many states an encoded map has at most: 256 KiB of them.
const encodedStates = 1 << 15

var errMap = errors.New("it is not an encoded map of coverage")

// MarshalBinary implements encoding.BinaryMarshaler. Of many states only those with the
// lowest hashes are kept, by which their number is known to about half a percent.
func (m *Map) MarshalBinary() ([]byte, error) {
	states := make([]uint64, 0, len(m.states))
	for s := range m.states { // sorted below
		states = append(states, s)
	}
	slices.Sort(states)
	below := m.below
	if len(states) > encodedStates {
		below = states[encodedStates]
		states = states[:encodedStates]
	}
	out := binary.BigEndian.AppendUint64(nil, below)
	for _, word := range m.edges {
		out = binary.BigEndian.AppendUint64(out, word)
	}
	for _, s := range states {
		out = binary.BigEndian.AppendUint64(out, s)
	}
	return out, nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (m *Map) UnmarshalBinary(data []byte) error {
	if len(data)%8 != 0 || len(data) < 8*(1+len(m.edges)) {
		return errMap
	}
	next := func() uint64 {
		word := binary.BigEndian.Uint64(data)
		data = data[8:]
		return word
	}
	*m = *NewMap()
	m.below = next()
	for i := range m.edges {
		m.edges[i] = next()
	}
	for len(data) > 0 {
		m.states[next()] = struct{}{}
	}
	return nil
}

// Merge takes in what another map has.
func (m *Map) Merge(o *Map) {
	for i, word := range o.edges {
		m.edges[i] |= word
	}
	for s := range o.states {
		m.states[s] = struct{}{}
	}
	switch {
	case m.below == 0:
		m.below = o.below
	case o.below > 0:
		m.below = min(m.below, o.below)
	}
	if m.below == 0 {
		return
	}
	for s := range m.states {
		if s >= m.below {
			delete(m.states, s)
		}
	}
}

// States is how many distinct states were seen: about so many, if the map was encoded
// and had very many.
func (m *Map) States() int {
	if m.below == 0 {
		return len(m.states)
	}
	return int(float64(len(m.states)) / (float64(m.below) / math.MaxUint64))
}
