package gossipkeys

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// Advance takes the next step of the rotation if it is safe now, and at most
// one. It returns where the rotation stands afterwards; that it has to wait is
// no error.
//
// The step back to the list before the current one is always safe, without a
// look at any report: since the current list was written, the nodes have had
// only these two. That is what makes it possible to abort because of a node
// that cannot follow. Every other step needs every node to report the current
// list.
func (r *Rotator) Advance(ctx context.Context) (Progress, error) {
	s, err := r.read(ctx, r.live)
	if err != nil {
		return Progress{}, err
	}
	if !s.open() {
		return r.progress(ctx, s)
	}
	to := rotation{From: s.rotation.Step, Step: s.rotation.next(), Back: s.rotation.Back, New: s.rotation.New}
	list := s.listFor(to.Step)
	if to.Step != s.rotation.From {
		g, err := r.mayLeave(ctx, s, removes(s.keys, list))
		if errors.Is(err, ErrNotConverged) {
			return newProgress(s, g), nil
		}
		if err != nil {
			return Progress{}, err
		}
	}
	if err := r.write(ctx, s, list, &to); err != nil {
		return Progress{}, err
	}
	return r.Progress(ctx)
}

// mayLeave returns ErrNotConverged with the gate that says why, unless all nodes
// have the list in s and, if a key is about to be removed, had it long enough.
func (r *Rotator) mayLeave(ctx context.Context, s *state, removal bool) (gate, error) {
	// The cache is cheap and can only be behind; most looks end here.
	if g, err := r.gateFrom(ctx, r.cache, s); err != nil {
		return g, err
	} else if !g.pass() {
		return g, ErrNotConverged
	}
	g, err := r.converged(ctx, s)
	if err != nil || !removal {
		return g, err
	}
	return r.settled(ctx, s)
}

// Progress returns where the rotation stands, and changes nothing.
func (r *Rotator) Progress(ctx context.Context) (Progress, error) {
	s, err := r.read(ctx, r.live)
	if err != nil {
		return Progress{}, err
	}
	return r.progress(ctx, s)
}

func (r *Rotator) progress(ctx context.Context, s *state) (Progress, error) {
	g, err := r.gateFrom(ctx, r.live, s)
	if err != nil {
		return Progress{}, err
	}
	return newProgress(s, g), nil
}

// Run advances until the rotation is complete, or back at the old keys, and all
// nodes report it; poll is the time between two looks. It waits through errors
// of the API, but not for a rotation that nobody has started, nor for someone
// to repair the Secret. It is for those who have no driver for Controller.
func (r *Rotator) Run(ctx context.Context, poll time.Duration) (Progress, error) {
	retry := backoff{base: ProvisionRetryMin, max: ProvisionRetryMax}
	for {
		progress, err := r.Advance(ctx)
		wait := poll
		switch {
		case ctx.Err() != nil:
			return progress, fmt.Errorf("rotate keys: %w", ctx.Err())
		case errors.Is(err, ErrInvalidData) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
			return progress, err
		case err != nil:
			wait = retry.next()
			r.log.Error(err, "rotation interrupted", "retryAfter", wait.String())
		case progress.Phase == PhaseIdle || progress.Phase == PhaseEdited:
			return progress, fmt.Errorf("%w (%s)", ErrNotRotating, progress.Phase)
		case progress.Done():
			return progress, nil
		default:
			retry.reset()
		}
		if err := r.clock.Sleep(ctx, wait); err != nil {
			return progress, fmt.Errorf("rotate keys: %w", err)
		}
	}
}

// Controller returns what advances any rotation that someone starts. It wakes
// for changes of the Secret and of Nodes, where the reports are.
func (r *Rotator) Controller() kube.Controller {
	return kube.Controller{
		Name:       "gossip-keys-rotator",
		Reconciler: r,
		Watches: []kube.Watch{
			{Object: &corev1.Secret{}, Namespace: r.secret.Namespace, Name: r.secret.Name},
			{Object: &corev1.Node{}, Selector: r.nodes, Requests: r.forNode},
		},
		Start:   []reconcile.Request{r.request()},
		Backoff: kube.Backoff{Base: ProvisionRetryMin, Max: ProvisionRetryMax},
	}
}

func (r *Rotator) forNode(context.Context, client.Object) []reconcile.Request {
	return []reconcile.Request{r.request()}
}

// Reconcile advances the rotation. While there is none, which the cache knows,
// it asks the API server nothing.
func (r *Rotator) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	s, err := r.read(ctx, r.cache)
	if apierrors.IsNotFound(err) || errors.Is(err, ErrInvalidData) || err == nil && !s.open() {
		return reconcile.Result{}, nil // the Secret's next change wakes us
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	progress, err := r.Advance(ctx)
	if errors.Is(err, ErrInvalidData) {
		err = reconcile.TerminalError(err)
	}
	return reconcile.Result{RequeueAfter: progress.Recheck}, err
}
