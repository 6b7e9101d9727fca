package grantpod

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is what happens to calls.
type Fault struct {
	// Name is the object that it is about; empty means any.
	Name string

	// Times is how many calls it happens to; zero means one, Always means all.
	Times int

	// Latency passes before anything else.
	Latency time.Duration

	// Hang keeps the call until its context ends.
	Hang bool

	// Err is the answer, if it is not nil. Errors of Status are those of an API
	// server.
	Err error
}

// Always is the Times of a fault that does not end by itself.
const Always = -1

// ErrRefused is what a client gets from a port that nobody listens on.
var ErrRefused = errors.New("dial tcp: connect: connection refused")

// Status returns the error that a client makes of an answer with that status.
func Status(code int) error {
	return apierrors.NewGenericServerResponse(code, "get", schema.GroupResource{}, "", "a fault", 0, false)
}

// UnknownPath is the error that a client makes of the 404 of a server that does not
// know the path at all, as after a version of a group is gone.
func UnknownPath() error {
	return apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "", "404 page not found", 0, true)
}

// Fail makes the next calls of a verb fail, after faults that are queued for it
// already.
func (k *Kube) Fail(verb Verb, f Fault) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults[verb] = append(k.faults[verb], &f)
}

// Heal drops all faults.
func (k *Kube) Heal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.faults)
}

// fault takes the first fault for a call; nil if there is none.
func (k *Kube) fault(verb Verb, name string) *Fault {
	for i, f := range k.faults[verb] {
		if f.Name != "" && f.Name != name {
			continue
		}
		happens := *f
		switch {
		case f.Times == Always:
		case f.Times <= 1:
			k.faults[verb] = slices.Delete(k.faults[verb], i, i+1)
		default:
			f.Times--
		}
		return &happens
	}
	return nil
}

func (f *Fault) happen(ctx context.Context, clock Clock) error {
	if f == nil {
		return nil
	}
	if f.Latency > 0 {
		if err := clock.Sleep(ctx, f.Latency); err != nil {
			return err
		}
	}
	for f.Hang {
		if err := clock.Sleep(ctx, time.Hour); err != nil {
			return err
		}
	}
	return f.Err
}
