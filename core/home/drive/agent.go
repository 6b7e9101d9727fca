package drive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/grant"
)

// reapInterval is how often the agent looks for leases that have ended.
const reapInterval = 5 * time.Second

// Templates builds what the workers of a grant are forked from.
type Templates interface {
	// Warm builds the template of a grant. It may take minutes.
	Warm(ctx context.Context, g grant.Grant, devices home.DeviceChannel) error

	// Cool drops the template of a grant, if there is one.
	Cool(ctx context.Context, uid string)
}

// AgentConfig is what an Agent is made of. All but Log are required.
type AgentConfig struct {
	// StateDir is where the epoch is kept. It must outlive the container.
	StateDir string

	Files     home.Files
	Clock     clock.Clock
	Templates Templates
	Log       logr.Logger
}

// Agent keeps the books: which grants are admitted, which are denied, and in which
// epoch. Its methods may be called from several tasks.
type Agent struct {
	cfg AgentConfig

	// turn is held by who raises the epoch.
	turn clock.Signal

	mu       sync.Mutex
	epoch    uint64
	admitted map[string]grant.Grant
	denied   map[string]bool
}

// NewAgent starts an agent: its epoch is another than any before.
func NewAgent(ctx context.Context, cfg AgentConfig) (*Agent, error) {
	if err := cfg.Files.MkdirAll(ctx, cfg.StateDir); err != nil {
		return nil, fmt.Errorf("make the state directory %s: %w", cfg.StateDir, err)
	}
	a := &Agent{cfg: cfg, turn: cfg.Clock.NewSignal(), admitted: map[string]grant.Grant{}, denied: map[string]bool{}}
	a.turn.Send()
	if err := a.bump(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// bump raises the epoch.
func (a *Agent) bump(ctx context.Context) error {
	if err := a.turn.Wait(ctx); err != nil {
		return fmt.Errorf("wait to raise the epoch: %w", err)
	}
	defer a.turn.Send()
	epoch, err := raiseEpoch(ctx, a.cfg.Files, a.cfg.StateDir, a.cfg.Clock.Now())
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epoch = epoch
	return nil
}

// ScopeLost fences off everything that runs, by a new epoch. It tries until it has
// one, or ctx ends. Admitted grants stay.
func (a *Agent) ScopeLost(ctx context.Context, reason string) {
	for {
		err := a.bump(ctx)
		if err == nil {
			a.cfg.Log.Info("A new epoch has begun, since the scope is lost", "epoch", a.Epoch(), "reason", reason)
			return
		}
		a.cfg.Log.Error(err, "Cannot raise the epoch", "reason", reason)
		if a.cfg.Clock.Sleep(ctx, time.Second) != nil {
			return
		}
	}
}

// Epoch is the current epoch.
func (a *Agent) Epoch() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epoch
}

// Admitted returns the grants that are admitted and have not lapsed, by id.
func (a *Agent) Admitted() []grant.Grant {
	now := a.cfg.Clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	var grants []grant.Grant
	for _, uid := range slices.Sorted(maps.Keys(a.admitted)) {
		if g := a.admitted[uid]; !g.Lapsed(now) {
			grants = append(grants, g)
		}
	}
	return grants
}

// Answer is what a caller gets who asks for a worker.
type Answer string

// Answers. Without capacity it is the home's health that decides: while the control
// plane is healthy a caller can get a worker elsewhere, else it should wait.
const (
	AnswerWorker   Answer = "worker"
	AnswerFallback Answer = "DEFERRED_FALLBACK"
	AnswerShed     Answer = "SHED"
)

// Ask says what a caller gets.
func (a *Agent) Ask(healthy bool) Answer {
	switch {
	case len(a.Admitted()) > 0:
		return AnswerWorker
	case healthy:
		return AnswerFallback
	default:
		return AnswerShed
	}
}

var errLapsed = errors.New("its lease has ended")

// Admit admits a grant that is genuine, or its renewal, and builds its template. The
// lane has named it, so it is denied no longer.
func (a *Agent) Admit(ctx context.Context, g grant.Grant, devices home.DeviceChannel) error {
	if g.Lapsed(a.cfg.Clock.Now()) {
		return fmt.Errorf("admit grant %s: %w", g.UID, errLapsed)
	}
	a.mu.Lock()
	delete(a.denied, g.UID)
	_, again := a.admitted[g.UID]
	a.mu.Unlock()
	if !again {
		if err := a.cfg.Templates.Warm(ctx, g, devices); err != nil {
			return fmt.Errorf("admit grant %s: build its template: %w", g.UID, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.admitted[g.UID] = g
	return nil
}

// Revoke puts a grant on the deny list and drops what it allowed.
func (a *Agent) Revoke(ctx context.Context, uid string) {
	a.mu.Lock()
	a.denied[uid] = true
	delete(a.admitted, uid)
	a.mu.Unlock()
	a.cfg.Templates.Cool(ctx, uid)
}

// Denied reports whether a grant is on the deny list.
func (a *Agent) Denied(uid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.denied[uid]
}

// lapsed takes out the grants whose leases have ended, and returns their ids.
func (a *Agent) lapsed() []string {
	now := a.cfg.Clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	var uids []string
	for _, uid := range slices.Sorted(maps.Keys(a.admitted)) {
		if g := a.admitted[uid]; g.Lapsed(now) {
			delete(a.admitted, uid)
			uids = append(uids, uid)
		}
	}
	return uids
}
