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
			todo = append(todo, job{gr: gr, run: strconv.FormatUint(r.Write.ID, 10), key: r.Write})
		}
	}
	return todo
}

// progress is how far a job has come.
type progress int

const (
	busy progress = iota
	done

	// overtaken is a job that is done, but somebody else has written what it is to be
	// noted in.
	overtaken
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
		next.Migrated.Resources = append(less(next.Migrated.Resources, []schema.GroupResource{j.gr}), j.gr)
		next.Migrated.Time = m.Clock.Now()
	}
	o := s.secret.DeepCopy()
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
