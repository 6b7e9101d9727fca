package shadow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
)

// MintTries is how often a placeholder is drawn until one has a key of its own.
const MintTries = 16

// ErrKeysTaken is wrapped when no placeholder with a key of its own was drawn.
var ErrKeysTaken = errors.New("every placeholder that was drawn has the lookup key of another")

// Holder is where a placeholder stands: a key of a shadow.
type Holder struct {
	Shadow types.NamespacedName
	Key    string

	created metav1.Time
}

// older orders holders by the age of their shadows. Of two that hold the same
// placeholder the older keeps it; all agents must agree on which that is.
func (h Holder) older(o Holder) bool {
	if !h.created.Equal(&o.created) {
		return h.created.Before(&o.created)
	}
	return h.name() < o.name()
}

func (h Holder) name() string { return h.Shadow.String() + "/" + h.Key }

// Index knows who holds which lookup key.
type Index map[placeholder.Key][]Holder

// NewIndex reads shadows; a Secret that does not say it is one holds nothing.
func NewIndex(shadows []corev1.Secret) Index {
	ix := Index{}
	for i := range shadows {
		ix.add(&shadows[i])
	}
	return ix
}

func (ix Index) add(s *corev1.Secret) {
	if !Managed(s) {
		return
	}
	previous := Previous(s)
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		h := Holder{Shadow: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, Key: key, created: s.CreationTimestamp}
		for _, p := range append([]string{string(s.Data[key])}, previous[key]...) {
			if k, ok := placeholder.KeyOf(p); ok {
				ix[k] = append(ix[k], h)
			}
		}
	}
}

// Others returns the holders of a key that are in another shadow.
func (ix Index) Others(k placeholder.Key, shadow types.NamespacedName) (out []Holder) {
	for _, h := range ix[k] {
		if h.Shadow != shadow {
			out = append(out, h)
		}
	}
	return out
}

// Plan returns the shadow that original should have, given the one it has, nil if none:
//
//  1. a key whose placeholder fits the value in both lengths, or in that in bytes if none
//     can in both, keeps it, unless an older shadow, or an earlier key of this one, holds
//     the same lookup key;
//  2. any other gets a new one, with a lookup key that nobody holds;
//  3. what was replaced because its length in HPACK changed is remembered as long as
//     the length in bytes does not change: it is still good outside of HPACK;
//  4. keys that original does not have are dropped.
//
// Values must have passed protected.Inspect. The keys that got a new placeholder in
// place of another are returned in order.
func Plan(original, current *corev1.Secret, ix Index, entropy io.Reader) (planned *corev1.Secret, replaced []string, err error) {
	planned = empty(original)
	if current != nil {
		planned = current.DeepCopy()
		planned.Immutable = nil
	}
	p := &planner{self: types.NamespacedName{Namespace: planned.Namespace, Name: planned.Name}, ix: ix, mine: map[placeholder.Key]bool{}, entropy: entropy}
	before, previous := planned.Data, Previous(planned)
	planned.Data = map[string][]byte{}
	remembered := map[string][]string{}
	names := slices.Sorted(maps.Keys(original.Data))
	// Those that are kept first, or a new one could take their lookup key.
	for _, name := range names {
		held := string(before[name])
		if placeholder.Suits(held, original.Data[name]) && p.keep(held, name, planned.CreationTimestamp) {
			planned.Data[name] = before[name]
			remembered[name] = p.remember(previous[name], len(held))
		}
	}
	for _, name := range names {
		if planned.Data[name] != nil {
			continue
		}
		value, held := original.Data[name], string(before[name])
		if placeholder.Fits(held, value) == placeholder.FitsRaw && p.keep(held, name, planned.CreationTimestamp) {
			remembered[name] = p.remember(append([]string{held}, previous[name]...), len(value))
		}
		fresh, err := p.mint(value)
		if err != nil {
			return nil, nil, fmt.Errorf("data[%s]: %w", name, err)
		}
		planned.Data[name] = []byte(fresh)
		if before[name] != nil {
			replaced = append(replaced, name)
		}
	}
	note(planned, remembered)
	return planned, replaced, nil
}

type planner struct {
	self    types.NamespacedName
	ix      Index
	mine    map[placeholder.Key]bool
	entropy io.Reader
}

// keep takes a placeholder that this shadow holds, unless somebody has an older claim.
func (p *planner) keep(held, name string, created metav1.Time) bool {
	k, ok := placeholder.KeyOf(held)
	if !ok || p.mine[k] {
		return false
	}
	me := Holder{Shadow: p.self, Key: name, created: created}
	for _, other := range p.ix.Others(k, p.self) {
		if other.older(me) {
			return false
		}
	}
	p.mine[k] = true
	return true
}

// remember returns the placeholders of before that nobody else holds.
func (p *planner) remember(list []string, length int) []string {
	return slices.DeleteFunc(kept(list, length), func(s string) bool {
		k, _ := placeholder.KeyOf(s)
		return len(p.ix.Others(k, p.self)) > 0
	})
}

func (p *planner) mint(value []byte) (string, error) {
	for range MintTries {
		fresh, err := placeholder.Mint(p.entropy, value)
		if errors.Is(err, placeholder.ErrMix) {
			fresh, err = placeholder.MintRaw(p.entropy, value) // whoever asks for it agrees
		}
		if err != nil {
			return "", err
		}
		// Nobody may hold it, this shadow's earlier placeholders included.
		if k, _ := placeholder.KeyOf(fresh); len(p.ix[k]) == 0 && !p.mine[k] {
			p.mine[k] = true
			return fresh, nil
		}
	}
	return "", fmt.Errorf("%w: %d tries", ErrKeysTaken, MintTries)
}

// note writes down the placeholders of before.
func note(s *corev1.Secret, remembered map[string][]string) {
	maps.DeleteFunc(remembered, func(_ string, list []string) bool { return len(list) == 0 })
	if len(remembered) == 0 {
		delete(s.Annotations, cloak.AnnotationPrevious)
		return
	}
	text, err := json.Marshal(remembered) // which sorts the keys
	if err != nil {
		return // cannot be: these are strings
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[cloak.AnnotationPrevious] = string(text)
}
