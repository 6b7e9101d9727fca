package gossipkeys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Why the Rotator refuses.
var (
	// ErrRotating: a rotation is under way; finish or abort it first.
	ErrRotating = errors.New("a rotation is under way")

	// ErrNotRotating: there is no rotation to abort or resume.
	ErrNotRotating = errors.New("no rotation is under way")

	// ErrNotConverged: some node does not report the list in the Secret.
	ErrNotConverged = errors.New("not every node reports the current keys")
)

// Rotator brings a new key into use and the old ones out of it, in the three
// steps of [Step], without any two nodes becoming deaf to each other:
//
//	old  --add-->  added  --flip-->  flipped  --drop-->  dropped
//	        <--back--        <--back--
//
// Between steps it waits until every node reports the list in the Secret, in
// this very version; before it removes a key that may have been used, it waits
// for another settle time, for streams still under way. It never skips a node;
// see gate.go for the nodes that do not count.
//
// A step is one write of the Secret: the list, its generation, and the rotation
// record change together, and only if the Secret is still the one on which the
// decision was made. All that the Rotator knows is in the Secret and in the
// reports, so it may crash before or after any write, lose the answer to one,
// or run twice at once. If the Secret is deleted, its record goes with it, and
// the Provisioner restores only the keys: then no rotation is under way, and a
// new one removes all the keys there are.
//
// Edits of the list by hand are not its steps. It takes no step from a list it
// did not write; Start begins afresh from any list that all nodes report.
type Rotator struct {
	settings
	live    kube.Kube
	cache   kube.Reader
	clock   clock.Clock
	entropy io.Reader
}

// NewRotator returns a Rotator for the Secret in namespace. Decisions are made
// on what live says; cache only spares it questions whose answer would be no,
// and may be live itself.
//
// Options: WithSecret, WithLogger, WithNodes, WithSettleTime, WithGoneAfter.
func NewRotator(
	live kube.Kube, cache kube.Reader, clk clock.Clock, entropy io.Reader, namespace string, opts ...Option,
) *Rotator {
	return &Rotator{settings: newSettings(namespace, opts), live: live, cache: cache, clock: clk, entropy: entropy}
}

// Start begins a rotation to a new key by adding it. It refuses with ErrRotating
// or ErrNotConverged.
func (r *Rotator) Start(ctx context.Context) error {
	return r.start(ctx, r.freshKey)
}

// StartWith begins a rotation to a key that comes from elsewhere.
func (r *Rotator) StartWith(ctx context.Context, fresh Key) error {
	return r.start(ctx, func(current Keys) (Key, error) {
		if fresh.IsZero() || collides(current, fresh) {
			return Key{}, fmt.Errorf("%w: key %s is none, is in use, or cannot be told from one that is",
				ErrUnsafeEdit, fresh.Fingerprint())
		}
		return fresh, nil
	})
}

func (r *Rotator) start(ctx context.Context, choose func(current Keys) (Key, error)) error {
	s, err := r.read(ctx, r.live)
	if err != nil {
		return err
	}
	if s.open() {
		return fmt.Errorf("%w: to key %s, at step %q", ErrRotating, s.rotation.New, s.rotation.Step)
	}
	if _, err := r.converged(ctx, s); err != nil {
		return err
	}
	fresh, err := choose(s.keys)
	if err != nil {
		return err
	}
	list := StepKeys(s.keys, fresh, StepAdded)
	return r.write(ctx, s, list, &rotation{Step: StepAdded, From: StepOld, New: fresh.Fingerprint()})
}

// freshKey makes a key that reports can tell from all current ones.
func (r *Rotator) freshKey(current Keys) (Key, error) {
	for range 4 {
		key, err := GenerateKey(r.entropy)
		if err != nil {
			return Key{}, err
		}
		if !collides(current, key) {
			return key, nil
		}
	}
	return Key{}, errors.New("entropy gives the same keys again and again")
}

func collides(current Keys, key Key) bool {
	for _, k := range current {
		if k.Fingerprint() == key.Fingerprint() {
			return true
		}
	}
	return false
}

// Abort turns a rotation around: it goes back one step at a time and ends at
// the old keys. It is too late once the old keys are dropped. The new key is
// not used again: Start brings in another one.
func (r *Rotator) Abort(ctx context.Context) error { return r.turn(ctx, true) }

// Resume turns an aborted rotation forward again.
func (r *Rotator) Resume(ctx context.Context) error { return r.turn(ctx, false) }

// turn changes the direction only. The list stays, and so does its generation.
func (r *Rotator) turn(ctx context.Context, back bool) error {
	s, err := r.read(ctx, r.live)
	if err != nil {
		return err
	}
	if !s.open() {
		return ErrNotRotating
	}
	if s.rotation.Back == back {
		return nil
	}
	turned := *s.rotation
	turned.Back = back
	secret := s.secret.DeepCopy()
	if err := setRotation(secret, &turned); err != nil {
		return err
	}
	if err := r.live.Update(ctx, secret); err != nil {
		return fmt.Errorf("turn the rotation in Secret %s: %w", r.secret, err)
	}
	r.log.Info("Rotation turned", "back", back, "step", turned.Step.String(), "newKey", turned.New)
	return nil
}

// Edit writes a list given by a person, if that is safe: if CheckEdit has no
// objection, no rotation is under way, and every node reports the current list.
// It waits for the settle time if the list lacks a key of the current one.
func (r *Rotator) Edit(ctx context.Context, want Keys) error {
	s, err := r.read(ctx, r.live)
	if err != nil {
		return err
	}
	if s.open() {
		return fmt.Errorf("%w: to key %s, at step %q", ErrRotating, s.rotation.New, s.rotation.Step)
	}
	want = want.Unique()
	if err := CheckEdit(s.keys, want); err != nil {
		return err
	}
	for _, key := range want {
		if !s.keys.Contains(key) && collides(s.keys, key) {
			return fmt.Errorf("%w: key %s cannot be told from one in use", ErrUnsafeEdit, key)
		}
	}
	if _, err := r.converged(ctx, s); err != nil {
		return err
	}
	if removes(s.keys, want) {
		if _, err := r.settled(ctx, s); err != nil {
			return err
		}
	}
	return r.write(ctx, s, want, nil)
}

func removes(current, want Keys) bool {
	for _, k := range current {
		if !want.Contains(k) {
			return true
		}
	}
	return false
}

func (r *Rotator) read(ctx context.Context, from kube.Reader) (*state, error) {
	secret := &corev1.Secret{}
	if err := from.Get(ctx, r.secret, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", r.secret, err)
	}
	return readState(secret, r.dataKey)
}

// gateFrom looks where the nodes stand.
func (r *Rotator) gateFrom(ctx context.Context, from kube.Reader, s *state) (gate, error) {
	var nodes corev1.NodeList
	if err := from.List(ctx, &nodes, client.MatchingLabelsSelector{Selector: r.nodes}); err != nil {
		return gate{}, fmt.Errorf("list Nodes: %w", err)
	}
	return newGate(nodes.Items, s, r.goneAfter, r.clock.Now()), nil
}

// converged returns the live gate, and ErrNotConverged unless it passes. The
// Secret was read before, so a node that reports its version holds its list,
// and can hold no other until the Secret is written again.
func (r *Rotator) converged(ctx context.Context, s *state) (gate, error) {
	g, err := r.gateFrom(ctx, r.live, s)
	if err != nil || g.pass() {
		return g, err
	}
	if waiting := g.waiting(); len(waiting) > 0 {
		return g, fmt.Errorf("%w: waiting for %s", ErrNotConverged, strings.Join(waiting, ", "))
	}
	return g, fmt.Errorf("%w: there is no node that does", ErrNotConverged)
}

// settled lets streams that began before the gate passed come to their end,
// then looks again: a node may have come, or come back, meanwhile.
func (r *Rotator) settled(ctx context.Context, s *state) (gate, error) {
	if err := r.clock.Sleep(ctx, r.settle); err != nil {
		return gate{}, fmt.Errorf("wait for streams under way: %w", err)
	}
	return r.converged(ctx, s)
}

// write makes keys the list. It fails with a conflict if the Secret is no
// longer the one in s.
func (r *Rotator) write(ctx context.Context, s *state, keys Keys, to *rotation) error {
	if to != nil {
		to.Keys = keys.Fingerprints()
	}
	secret, err := s.with(r.dataKey, keys, to)
	if err != nil {
		return err
	}
	if err := r.live.Update(ctx, secret); err != nil {
		return fmt.Errorf("write the keys to Secret %s: %w", r.secret, err)
	}
	r.log.Info("Wrote gossip keys", "secret", r.secret.String(), "keys", keys.Fingerprints(),
		"generation", s.version.Generation+1)
	return nil
}
