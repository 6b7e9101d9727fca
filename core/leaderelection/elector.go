package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Periods that OpenShift uses: an API server may be away for a minute and a half
// without a change of the leader.
const (
	LeaseDuration = 137 * time.Second
	RenewDeadline = 107 * time.Second
	RetryPeriod   = 26 * time.Second
)

// Config is what an [Elector] needs. Live, Clock, Lease and Identity are required.
type Config struct {
	Live  kube.Kube
	Clock clock.Clock
	Lease client.ObjectKey

	// Identity is that of the process. No two processes have the same, one before
	// and after a restart included.
	Identity string

	// LeaseDuration is how long others wait after the last renewal. RenewDeadline is
	// how long a leader goes on without a renewal; it must be shorter. RetryPeriod is
	// the time between attempts. Zero means the constant of the name.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	// Floor returns an epoch that leaders have had, as is known from elsewhere: a
	// Lease that was deleted remembers none. Nil means zero.
	Floor func(ctx context.Context) (int64, error)

	Log logr.Logger
}

// Elector is a candidate.
type Elector struct {
	cfg   Config
	epoch atomic.Int64

	// seen is the Lease as it was last seen to change, and when, by our own clock:
	// the times in it are those of other clocks.
	seen   coordinationv1.LeaseSpec
	seenAt time.Time
}

// ErrLost is returned by Run when the leader could not renew its Lease. The process
// should end: what it was about may be under way still.
var ErrLost = errors.New("the leadership is lost")

var errDurations = errors.New("expected RetryPeriod < RenewDeadline < LeaseDuration")

// New returns a candidate that does nothing until Run is called.
func New(cfg Config) (*Elector, error) {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&cfg.LeaseDuration, LeaseDuration}, {&cfg.RenewDeadline, RenewDeadline}, {&cfg.RetryPeriod, RetryPeriod}} {
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
	if cfg.RetryPeriod <= 0 || cfg.RetryPeriod >= cfg.RenewDeadline || cfg.RenewDeadline >= cfg.LeaseDuration {
		return nil, fmt.Errorf("leader election %s: %w, and they are %s, %s and %s",
			cfg.Lease, errDurations, cfg.RetryPeriod, cfg.RenewDeadline, cfg.LeaseDuration)
	}
	return &Elector{cfg: cfg}, nil
}

// Epoch is the number of this leadership; zero before there was one. Epochs of later
// leaders are higher.
func (e *Elector) Epoch() int64 { return e.epoch.Load() }

// Run waits until this process leads, and then calls lead, whose context ends when
// the leadership does. It returns nil once ctx has ended, having given the Lease
// back, and otherwise an error that wraps [ErrLost]. It may be called once.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context)) error {
	for !e.leads(ctx) {
		if !e.pause(ctx) {
			return nil
		}
	}
	e.cfg.Log.Info("Leads", "lease", e.cfg.Lease, "epoch", e.Epoch())
	leading, cancel := e.cfg.Clock.WithCancel(ctx)
	group := e.cfg.Clock.NewGroup(leading)
	group.Go("lead", func(ctx context.Context) {
		defer cancel()
		lead(ctx)
	})
	err := e.renew(leading)
	cancel()
	group.Wait()
	if err != nil {
		return fmt.Errorf("leader election %s: %w: %w", e.cfg.Lease, ErrLost, err)
	}
	e.release()
	return nil
}

// leads tries to lead, and reports whether it does.
func (e *Elector) leads(ctx context.Context) bool {
	err := e.try(ctx)
	if err != nil {
		e.cfg.Log.V(1).Info("Another leads, or nobody can", "lease", e.cfg.Lease, "reason", err.Error())
	}
	return err == nil
}

// pause waits for the next attempt, and reports whether ctx goes on.
func (e *Elector) pause(ctx context.Context) bool {
	return e.cfg.Clock.Sleep(ctx, e.cfg.RetryPeriod) == nil
}

// renew goes on until ctx ends or the Lease could not be renewed in time.
func (e *Elector) renew(ctx context.Context) error {
	var lost error
	for last := e.cfg.Clock.Now(); lost == nil && e.pause(ctx); {
		attempt, cancel := e.cfg.Clock.WithTimeout(ctx, e.cfg.RenewDeadline-e.cfg.RetryPeriod)
		err := e.try(attempt)
		cancel()
		switch {
		case err == nil:
			last = e.cfg.Clock.Now()
		case ctx.Err() == nil && (errors.Is(err, errHeld) || e.cfg.Clock.Since(last) >= e.cfg.RenewDeadline):
			lost = err
		}
	}
	return lost
}

var errHeld = errors.New("the lease is held by another")

// try takes the Lease, or renews it.
func (e *Elector) try(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	err := e.cfg.Live.Get(ctx, e.cfg.Lease, lease)
	if apierrors.IsNotFound(err) {
		return e.create(ctx)
	}
	if err != nil {
		return fmt.Errorf("get Lease %s: %w", e.cfg.Lease, err)
	}
	if !same(&lease.Spec, &e.seen) {
		e.seen, e.seenAt = lease.Spec, e.cfg.Clock.Now()
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder != "" && holder != e.cfg.Identity && e.cfg.Clock.Since(e.seenAt) < e.duration(&lease.Spec) {
		return fmt.Errorf("%w: %s", errHeld, holder)
	}
	now := metav1.NewMicroTime(e.cfg.Clock.Now())
	if holder != e.cfg.Identity {
		lease.Spec.LeaseTransitions = ptr.To(ptr.Deref(lease.Spec.LeaseTransitions, 0) + 1)
		lease.Spec.AcquireTime = &now
	}
	e.hold(&lease.Spec, now)
	return e.store(lease, e.cfg.Live.Update(ctx, lease), "update")
}

// create makes the Lease, with an epoch above all that are known of.
func (e *Elector) create(ctx context.Context) error {
	var floor int64
	if e.cfg.Floor != nil {
		var err error
		if floor, err = e.cfg.Floor(ctx); err != nil {
			return fmt.Errorf("find the epoch of the last leader: %w", err)
		}
	}
	now := metav1.NewMicroTime(e.cfg.Clock.Now())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.cfg.Lease.Namespace, Name: e.cfg.Lease.Name}}
	lease.Spec.AcquireTime, lease.Spec.LeaseTransitions = &now, ptr.To(int32(floor))
	e.hold(&lease.Spec, now)
	return e.store(lease, e.cfg.Live.Create(ctx, lease), "create")
}

func (e *Elector) hold(s *coordinationv1.LeaseSpec, now metav1.MicroTime) {
	s.HolderIdentity, s.RenewTime = &e.cfg.Identity, &now
	s.LeaseDurationSeconds = ptr.To(int32(e.cfg.LeaseDuration / time.Second))
}

// store notes a Lease that was written.
func (e *Elector) store(lease *coordinationv1.Lease, err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s Lease %s: %w", what, e.cfg.Lease, err)
	}
	e.seen, e.seenAt = lease.Spec, e.cfg.Clock.Now()
	e.epoch.Store(int64(ptr.Deref(lease.Spec.LeaseTransitions, 0)) + 1)
	return nil
}

// release gives the Lease back, so that the next need not wait. It is no harm if
// that fails.
func (e *Elector) release() {
	ctx, cancel := e.cfg.Clock.WithTimeout(context.Background(), e.cfg.RetryPeriod)
	defer cancel()
	lease := &coordinationv1.Lease{}
	if err := e.cfg.Live.Get(ctx, e.cfg.Lease, lease); err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") != e.cfg.Identity {
		return
	}
	now := metav1.NewMicroTime(e.cfg.Clock.Now())
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = ptr.To(""), &now
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(1))
	if err := e.cfg.Live.Update(ctx, lease); err != nil {
		e.cfg.Log.V(1).Info("The lease was not given back", "lease", e.cfg.Lease, "reason", err.Error())
	}
}

// duration is how long a Lease holds by what its holder says.
func (e *Elector) duration(s *coordinationv1.LeaseSpec) time.Duration {
	if s.LeaseDurationSeconds == nil {
		return e.cfg.LeaseDuration
	}
	return time.Duration(*s.LeaseDurationSeconds) * time.Second
}

func same(a, b *coordinationv1.LeaseSpec) bool {
	return ptr.Deref(a.HolderIdentity, "") == ptr.Deref(b.HolderIdentity, "") && ptr.Deref(a.LeaseTransitions, 0) == ptr.Deref(b.LeaseTransitions, 0) &&
		a.RenewTime.Equal(b.RenewTime)
}
