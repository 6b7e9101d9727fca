package gossipkeys

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// RotationAnnotation on the Secret holds what the Rotator knows of a rotation,
// as JSON. It is written together with the keys, so the two never disagree.
const RotationAnnotation = "gossipkeys.seedbed.dev/rotation"

// Step is a place on the way from old keys to a new one. Lists of steps next to
// each other are adjacent (see [Adjacent]); lists further apart need not be.
type Step int

// The steps, with the list of each for old keys K1 and a new key K2.
const (
	StepOld     Step = iota // K1
	StepAdded               // K1 K2: the new key is known, nobody uses it
	StepFlipped             // K2 K1: the new key is used, the old ones still understood
	StepDropped             // K2
)

var stepNames = []string{"old", "added", "flipped", "dropped"}

// String returns the name of the step.
func (s Step) String() string {
	if s < StepOld || s > StepDropped {
		return "step " + strconv.Itoa(int(s))
	}
	return stepNames[s]
}

// MarshalText writes the name.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name.
func (s *Step) UnmarshalText(text []byte) error {
	i := slices.Index(stepNames, string(text))
	if i < 0 {
		return fmt.Errorf("unknown step %q", text)
	}
	*s = Step(i)
	return nil
}

// Adjacent reports whether nodes at step s and nodes at step other of one
// rotation understand each other both ways, whatever the keys.
func (s Step) Adjacent(other Step) bool { return s-other <= 1 && other-s <= 1 }

// StepKeys returns the list of each step, for any number of old keys: the whole
// way of a rotation.
func StepKeys(old Keys, fresh Key, step Step) Keys {
	switch step {
	case StepAdded:
		return append(slices.Clone(old), fresh)
	case StepFlipped:
		return append(Keys{fresh}, old...)
	case StepDropped:
		return Keys{fresh}
	default:
		return slices.Clone(old)
	}
}

// rotation is the content of RotationAnnotation.
type rotation struct {
	// Step is the step that the list in the Secret is at, and From the one it
	// was at before. Until all nodes report Step, some may still be at From.
	Step Step `json:"step"`
	From Step `json:"from"`

	// Back says that the rotation was aborted and goes towards StepOld.
	Back bool `json:"back,omitempty"`

	// New is the fingerprint of the new key, Keys those of the list written.
	New  string   `json:"new"`
	Keys []string `json:"keys"`
}

// open reports whether the rotation has a step to take.
func (r rotation) open() bool { return r.Step == StepAdded || r.Step == StepFlipped }

// next returns the step that follows in the direction of the rotation, which
// must be open.
func (r rotation) next() Step {
	if r.Back {
		return r.Step - 1
	}
	return r.Step + 1
}

// state is the Secret as the Rotator understands it.
type state struct {
	secret   *corev1.Secret
	keys     Keys // no key twice
	version  Version
	rotation *rotation // nil if there is none, or none that can be trusted
	edited   bool      // the list is not the one that the rotation wrote
}

func readState(secret *corev1.Secret, dataKey string) (*state, error) {
	keys, err := ParseKeys(secret.Data[dataKey])
	if err != nil {
		return nil, fmt.Errorf("%w: Secret %s/%s holds invalid data in entry %q: %w",
			ErrInvalidData, secret.Namespace, secret.Name, dataKey, err)
	}
	s := &state{secret: secret, keys: keys.Unique(), version: versionOf(secret)}
	text, ok := secret.Annotations[RotationAnnotation]
	if !ok {
		return s, nil
	}
	var r rotation
	readable := json.Unmarshal([]byte(text), &r) == nil
	if readable && slices.Equal(r.Keys, s.keys.Fingerprints()) {
		s.rotation = &r
	} else {
		s.edited = true
	}
	return s, nil
}

// open reports whether a rotation is under way.
func (s *state) open() bool { return s.rotation != nil && s.rotation.open() }

// listFor returns the list of a step next to the current one.
func (s *state) listFor(step Step) Keys {
	last := len(s.keys) - 1
	switch {
	case s.rotation.Step == StepAdded && step == StepOld:
		return slices.Clone(s.keys[:last])
	case s.rotation.Step == StepAdded && step == StepFlipped:
		return StepKeys(s.keys[:last], s.keys[last], StepFlipped)
	case s.rotation.Step == StepFlipped && step == StepAdded:
		return StepKeys(s.keys[1:], s.keys[0], StepAdded)
	default: // from StepFlipped to StepDropped
		return Keys{s.keys[0]}
	}
}

// with returns the Secret to write: the one that was read, with another list
// and the next generation. A nil rotation takes the annotation away.
func (s *state) with(dataKey string, keys Keys, r *rotation) (*corev1.Secret, error) {
	secret := s.secret.DeepCopy()
	secret.Data[dataKey] = FormatKeys(keys)
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations[GenerationAnnotation] = strconv.FormatInt(s.version.Generation+1, 10)
	return secret, setRotation(secret, r)
}

func setRotation(secret *corev1.Secret, r *rotation) error {
	if r == nil {
		delete(secret.Annotations, RotationAnnotation)
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode rotation: %w", err)
	}
	secret.Annotations[RotationAnnotation] = string(text)
	return nil
}

// ErrUnsafeEdit is wrapped by the error of CheckEdit.
var ErrUnsafeEdit = errors.New("unsafe edit")

// CheckEdit says whether a cluster whose nodes all hold the list current can be
// given the list want without any node becoming deaf to another on the way. The
// error wraps ErrUnsafeEdit and says who could not read whom, and what to do
// instead.
func CheckEdit(current, want Keys) error {
	switch {
	case len(want) == 0:
		return fmt.Errorf("%w: a list needs at least one key", ErrUnsafeEdit)
	case len(current) == 0:
		return fmt.Errorf("%w: the current list has no key", ErrUnsafeEdit)
	case !current.Contains(want[0]):
		return fmt.Errorf("%w: the new primary %s is not yet in every ring, so nodes that have it could not be read"+
			" by nodes still on the current list: add it at the end of the list first", ErrUnsafeEdit, want[0])
	case !want.Contains(current[0]):
		return fmt.Errorf("%w: the current primary %s would be dropped while nodes still write with it:"+
			" move another key to the front first, and drop it in the edit after that", ErrUnsafeEdit, current[0])
	}
	return nil
}
