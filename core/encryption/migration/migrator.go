package migration

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Kinds knows the kind of a resource in the version that the server prefers.
type Kinds interface {
	// PreferredKind returns an error that meta.IsNoMatchError knows if there is no
	// such resource.
	PreferredKind(ctx context.Context, gr schema.GroupResource) (schema.GroupVersionKind, error)
}

// Config is what a [Migrator] needs. All fields are required but Log, Workers,
// Entropy and Done.
type Config struct {
	Live  kube.Kube
	Kinds Kinds
	Clock clock.Clock

	// Workers is how many objects are written at once; zero means [DefaultWorkers].
	Workers int

	// Entropy spreads attempts in time; nil leaves them where they fall.
	Entropy io.Reader

	// Done is called when a run has ended, from the task that runs Migrator.Run.
	Done func()

	Log logr.Logger
}

// DefaultWorkers is how many objects are written at once.
const DefaultWorkers = 10

// Migrator rewrites objects. Its methods may be called from several tasks.
type Migrator struct {
	cfg  Config
	work clock.Signal

	mu   sync.Mutex
	runs map[schema.GroupResource]*run
}

// run is one rewriting of a resource.
type run struct {
	gr  schema.GroupResource
	key string

	// cancel ends the run, if it has begun.
	cancel context.CancelFunc

	begun, done bool
	result      error
	at          time.Time
}

// New returns a Migrator that does nothing until Run is called.
func New(cfg Config) *Migrator {
	if cfg.Workers == 0 {
		cfg.Workers = DefaultWorkers
	}
	return &Migrator{cfg: cfg, work: cfg.Clock.NewSignal(), runs: map[schema.GroupResource]*run{}}
}

// EnsureMigration implements encryption.Migrator.
func (m *Migrator) EnsureMigration(_ context.Context, gr schema.GroupResource, writeKey string) (finished bool, result error, finishedAt time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[gr]
	if r != nil && r.key == writeKey {
		return r.done, r.result, r.at, nil
	}
	m.end(r)
	m.runs[gr] = &run{gr: gr, key: writeKey}
	m.work.Send()
	return false, nil, time.Time{}, nil
}

// PruneMigration implements encryption.Migrator.
func (m *Migrator) PruneMigration(_ context.Context, gr schema.GroupResource) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end(m.runs[gr])
	delete(m.runs, gr)
	return nil
}

// Watches implements encryption.Migrator. The end of a run shows in nothing that
// could be watched; see Config.Done.
func (m *Migrator) Watches() []kube.Watch { return nil }

func (m *Migrator) end(r *run) {
	if r != nil && r.cancel != nil {
		r.cancel()
	}
}

// Run makes the runs that are wanted, one after the other, until ctx ends.
func (m *Migrator) Run(ctx context.Context) {
	for {
		r := m.next(ctx)
		if r == nil {
			if m.work.Wait(ctx) != nil {
				return
			}
			continue
		}
		m.make(ctx, r)
		if ctx.Err() != nil {
			return
		}
	}
}

// next returns a run that has not begun, in the order of the resources.
func (m *Migrator) next(ctx context.Context) *run {
	m.mu.Lock()
	defer m.mu.Unlock()
	byName := func(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) }
	for _, gr := range slices.SortedFunc(maps.Keys(m.runs), byName) {
		if r := m.runs[gr]; !r.begun && ctx.Err() == nil {
			r.begun = true
			return r
		}
	}
	return nil
}

// make makes one run.
func (m *Migrator) make(ctx context.Context, r *run) {
	ctx, cancel := m.cfg.Clock.WithCancel(ctx)
	defer cancel()
	m.mu.Lock()
	r.cancel = cancel
	wanted := m.runs[r.gr] == r
	m.mu.Unlock()
	if !wanted {
		return
	}
	m.cfg.Log.V(1).Info("Rewriting objects", "resource", r.gr.String(), "key", r.key)
	err := m.rewrite(ctx, r.gr)
	m.mu.Lock()
	r.done, r.result, r.at = true, err, m.cfg.Clock.Now()
	m.mu.Unlock()
	if m.cfg.Done != nil {
		m.cfg.Done()
	}
}
