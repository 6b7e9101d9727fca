package encryption

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

// noteRetry is how long Migration waits before it looks anew when somebody else has
// written the Secret of the key.
const noteRetry = time.Second

// PlainRun is the key of runs that rewrite objects as they are, for resources that
// are to be encrypted no longer.
const PlainRun = "plain"

// job is the rewriting of one resource, by what is deployed.
type job struct {
	gr  schema.GroupResource
	run string

	// key is what objects are written with; nil if they are written as they are.
	key *state.Key

	// again says that they have been written with key before, and are to be written
	// with another key that its plugin keeps.
	again bool
}

// to says what objects are written with, for people.
func (j job) to() string {
	if j.key == nil {
		return "no key"
	}
	return fmt.Sprintf("key %d", j.key.ID)
}

// jobs returns what is yet to be rewritten, in the order of the resources.
func jobs(v *view) []job {
	var todo []job
	for i := range v.current {
		r := &v.current[i]
		switch gr := r.GroupResource; {
		case v.leaves(gr):
			if r.Plainly() && !state.Decrypted(gr, v.keys) && len(v.keys) > 0 {
				todo = append(todo, job{gr: gr, run: PlainRun})
			}
		case r.HasWriteKey() && !r.Write.Migrated.Has(gr):
			todo = append(todo, job{gr: gr, run: runFor(r.Write), key: r.Write})
		}
	}
	if s := v.writer(); len(todo) == 0 && s != nil && s.key.KEK.Pending() && s.key.Migrated.HasAll(v.grs) {
		for _, gr := range v.grs {
			todo = append(todo, job{gr: gr, run: runFor(&s.key), key: &s.key, again: true})
		}
	}
	return todo
}

// runFor is the key of runs that rewrite objects with k: all that makes a run another
// one.
func runFor(k *state.Key) string {
	run := strconv.FormatUint(k.ID, 10)
	if k.KEK.Target != "" {
		run += "-" + k.KEK.Target
	}
	return run
}

// progress is how far a job has come.
type progress int

const (
	busy progress = iota
	done

	// overtaken is a job that is done, but somebody else has written what it is to be
	// noted in.
	overtaken

	// held is a job that cannot begin yet.
	held
)

var errNoSecret = errors.New("no Secret has the key")

// note writes into the Secret of a key that a resource has been rewritten.
func (m *migrationController) note(ctx context.Context, v *view, j job) (progress, error) {
	s := v.newest()
	if j.key != nil {
		s = v.find(*j.key)
	}
	if s == nil {
		return busy, fmt.Errorf("note that it is migrated: %w", errNoSecret)
	}
	next := s.key
	if j.key == nil {
		next.Decrypted = append(less(next.Decrypted, []schema.GroupResource{j.gr}), j.gr)
	} else {
		next.KEK.Migrated = m.kekAfter(j.gr, &s.key)
		next.Migrated.Resources = append(less(next.Migrated.Resources, []schema.GroupResource{j.gr}), j.gr)
		next.Migrated.Time = m.Clock.Now()
	}
	return m.store(ctx, s, next)
}

// kekAfter returns the id of the plugin's key that all objects of a key's resources
// are known to be written with once gr is.
func (m *migrationController) kekAfter(gr schema.GroupResource, key *state.Key) string {
	before := less(key.Migrated.Resources, []schema.GroupResource{gr})
	now := m.kek[gr]
	if m.watch.key != key.ID || len(before) > 0 && now != key.KEK.Migrated {
		return ""
	}
	return now
}

// noteAgain writes into the Secret of a key that all resources have been rewritten
// with the key of its plugin that the runs were for.
func (m *migrationController) noteAgain(ctx context.Context, v *view, j job) (progress, error) {
	s := v.find(*j.key)
	if s == nil {
		return busy, fmt.Errorf("note that it is migrated: %w", errNoSecret)
	}
	next := s.key
	next.KEK.Migrated = j.key.KEK.Target
	return m.store(ctx, s, next)
}

// store writes what has become of a key into its Secret, if nobody else has written
// that since it was looked at.
func (m *migrationController) store(ctx context.Context, s *storedKey, next state.Key) (progress, error) {
	o := s.secret.DeepCopy()
	keysecret.SetKEK(o, next.KEK)
	if err := errors.Join(keysecret.SetMigrated(o, next.Migrated), keysecret.SetDecrypted(o, next.Decrypted)); err != nil {
		return busy, fmt.Errorf("note in Secret %s/%s that it is migrated: %w", o.Namespace, o.Name, err)
	}
	err := m.Live.Update(ctx, o)
	if apierrors.IsConflict(err) {
		return overtaken, nil
	}
	if err != nil {
		return busy, fmt.Errorf("update Secret %s/%s: %w", o.Namespace, o.Name, err)
	}
	s.secret, s.key = o, next // of what follows in this sync
	return done, nil
}
