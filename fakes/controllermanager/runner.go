package controllermanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Runner is a manager that is driven by hand over one API server, with neither
// latency nor loss between: for tests that want the controllers' work done and have
// no simulated cluster. It is not safe for concurrent use.
type Runner struct {
	server  *apiserver.Server
	manager *Manager
	followers
	loops []*runningLoop
	seq   uint64
}

// Attach starts the controllers of those names (all, if there are none) over a
// server. They do nothing before the first Settle.
func Attach(server *apiserver.Server, controllers ...string) (*Runner, error) {
	st := server.Store()
	r := &Runner{server: server, followers: followers{byResource: map[schema.GroupVersionResource]*follower{}}}
	var err error
	r.manager, err = New(Options{
		API: server, Cache: &r.followers, Clock: st.Clock(), Discover: st.Resources, Usage: st.Usage, Controllers: controllers,
	})
	if err != nil {
		return nil, err
	}
	for _, l := range r.manager.Loops() {
		run := newRunningLoop(r, l)
		l.Attach(run)
		r.loops = append(r.loops, run)
	}
	return r, nil
}

// ErrUnsettled says that the controllers have not come to rest: what one of them
// does keeps another busy, or itself.
var ErrUnsettled = errors.New("the controllers do not come to rest")

// settleSteps is how many requests are worked on before Settle gives up.
const settleSteps = 100_000

// Settle lets the controllers work until nothing is left that is due now: see
// [Runner.Next] for what is due later. It is ErrUnsettled if there is no end to it;
// another error is made of those of the attempts that failed and will be repeated.
// Repetitions that would come within a second are made at once, as a test's clock
// may stand still.
func (r *Runner) Settle() error {
	r.manager.Rediscover()
	if err := r.follow(r.server, r.manager); err != nil {
		return err
	}
	for range settleSteps {
		r.drain(r.server, r.manager)
		l, it := r.due()
		if it == nil {
			return r.failures()
		}
		l.work(context.Background(), it)
	}
	return fmt.Errorf("%w: %d requests worked on", ErrUnsettled, settleSteps)
}

// Next returns when something will be due that is not yet: Settle again when the
// clock of the server's store has got there.
func (r *Runner) Next() (time.Time, bool) {
	var next time.Time
	for _, l := range r.loops {
		for _, it := range l.order {
			if next.IsZero() || it.at.Before(next) {
				next = it.at
			}
		}
	}
	return next, !next.IsZero()
}

// Close ends the watches.
func (r *Runner) Close() {
	for _, f := range r.order {
		f.stream.Stop()
	}
}

// due returns the request whose turn it is: of those whose time has come, the one
// that was added first.
func (r *Runner) due() (*runningLoop, *item) {
	now := r.manager.opts.Clock.Now()
	var loop *runningLoop
	var first *item
	for _, l := range r.loops {
		for _, it := range l.order {
			if !it.at.After(now) && (first == nil || it.seq < first.seq) {
				loop, first = l, it
			}
		}
	}
	return loop, first
}

func (r *Runner) failures() error {
	var errs []error
	for _, l := range r.loops {
		for _, it := range l.order {
			if it.err != nil && !errors.Is(it.err, errVirtual) {
				errs = append(errs, it.err)
			}
		}
	}
	return errors.Join(errs...)
}
