package home

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// Home is the home of one Pod. Its methods may be called at any time and from any
// task, before, during and after Run.
type Home struct {
	cfg    Config
	log    logr.Logger
	clock  clock.Clock
	health *SourceHealth
	root   string

	// waiting ends the wait for the Pod's address.
	waiting context.Context
	end     context.CancelFunc

	losses    losses
	readiness readiness
	lease     lease

	// mu guards the rest. It is not held during a call of a port.
	mu     sync.Mutex
	ran    bool
	paused bool
	pod    *corev1.Pod // the last one stored; always this Pod
	claims map[string]types.UID

	// unserved is since when claims have not been served.
	unserved      time.Duration
	unservedKnown bool
}

// New builds the home. It reads nothing from the cluster: the first read happens in
// EndpointHost, Devices or the first poll round. The health starts in sync, so a Pod
// that the API server has not answered for yet is not unhealthy before the stale TTL
// has passed.
//
// With a grant token file, New fetches the Pod's grant before it returns, retrying for
// up to GrantFetchTimeout. It fails when no grant came by then, unless the grants
// directory holds an unexpired grant file for the Pod. Run renews the grant from there.
//
// ctx bounds New's own work. When it ends first, New closes the home and returns ctx's
// cause. It is not the home's lifetime.
func New(ctx context.Context, cfg Config) (*Home, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	h := &Home{
		cfg: cfg, log: cfg.Logger, clock: cfg.Clock, root: cfg.CgroupRoot,
		health: NewSourceHealth(cfg.StaleTTL, cfg.Clock.Monotonic()),
		claims: map[string]types.UID{},
	}
	h.losses.due = cfg.Clock.NewSignal()
	h.readiness.start(cfg.Clock)
	// Not ctx's child: ctx may end as soon as New has returned.
	h.waiting, h.end = cfg.Clock.WithCancel(context.Background())
	if err := h.begin(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// begin is the work of New.
func (h *Home) begin(ctx context.Context) error {
	if h.root == "" && h.cfg.Cgroups != nil {
		root, err := h.cfg.Cgroups.Delegate(ctx)
		if err != nil {
			return fmt.Errorf("delegate the cgroup of this process: %w", err)
		}
		h.root = root
	}
	if !h.cfg.fetches() {
		return nil
	}
	return h.firstFetch(ctx)
}

// Close ends what New started, the wait for the Pod's address in EndpointHost. Run's
// context ends everything else.
func (h *Home) Close() { h.end() }

// Run drives the liveness poll, the delivery of scope losses, the refresh of the key
// cache and the renewal of the grant until ctx ends. It returns only once all of them
// have stopped, a handler of a loss included. A second Run logs and returns at once.
func (h *Home) Run(ctx context.Context) {
	h.mu.Lock()
	again := h.ran
	h.ran = true
	h.mu.Unlock()
	if again {
		h.log.Info("The home has been run before, and runs once only")
		return
	}
	g := h.clock.NewGroup(ctx)
	g.Go("deliver losses", h.deliverLosses)
	if h.cfg.Cache != nil {
		g.Go("refresh keys", h.refreshKeys)
	}
	if h.cfg.fetches() {
		g.Go("renew grant", h.renew)
	}
	h.poll(ctx)
	h.Close()
	g.Wait()
}

// poll makes a round at once and one at each tick. A round that takes longer than the
// time between ticks is followed by one at once, and no more.
func (h *Home) poll(ctx context.Context) {
	tick := h.clock.Monotonic()
	for ctx.Err() == nil {
		h.round(ctx)
		tick += h.cfg.Poll
		if late := h.clock.Monotonic() - tick; late >= 0 {
			tick += late - late%h.cfg.Poll // the last one that has passed
			continue
		}
		if h.clock.Sleep(ctx, tick-h.clock.Monotonic()) != nil {
			return
		}
	}
}

// refreshKeys has the issuer's keys read at once and then once a Poll.
func (h *Home) refreshKeys(ctx context.Context) {
	for {
		if err := h.cfg.Cache.Refresh(ctx); err != nil && ctx.Err() == nil {
			h.log.Info("Cannot refresh the keys of the issuer", "error", err.Error())
		}
		if h.clock.Sleep(ctx, h.cfg.Poll) != nil {
			return
		}
	}
}

// Name is what this home is selected by.
func (h *Home) Name() string { return Name }

// Health tells whether the API server answers for the Pod; ask it with the reading of
// the monotonic clock. See also [Home.Healthy].
func (h *Home) Health() *SourceHealth { return h.health }

// Healthy reports whether the API server answers for the Pod.
func (h *Home) Healthy() bool { return h.health.Healthy(h.clock.Monotonic()) }

// CgroupRoot is the cgroup subtree for work; empty if there is none.
func (h *Home) CgroupRoot() string { return h.root }

// SelfAdmitUID is the Pod's UID, since the controller issues this Pod's grant under
// it. A token for an earlier Pod of the same name must not admit itself here.
func (h *Home) SelfAdmitUID() string { return h.cfg.PodUID }

// SetIssuerReachable is the override of tests behind the agent's admin socket. False
// marks the API server unreachable now and keeps it so; true resumes the polls and
// marks it reachable. A round that holds an answer marks nothing after that.
func (h *Home) SetIssuerReachable(reachable bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.paused = !reachable
	now := h.clock.Monotonic()
	if !reachable {
		now -= h.cfg.StaleTTL
	}
	h.health.MarkSync(now)
}

// storedPod returns the last Pod stored, or nil. It is read-only.
func (h *Home) storedPod() *corev1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pod
}

// devices returns a copy of the configured devices.
func (h *Home) devices() []string { return slices.Clone(h.cfg.Devices) }
