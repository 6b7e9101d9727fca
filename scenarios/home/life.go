package home

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/drive"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// life is one home, from New until its process ends, as its observers see it. Times
// are readings of its process's monotonic clock.
type life struct {
	state *State
	pod   *grantPod
	n     int // which start of the Pod's container it is
	env   *cluster.Env
	log   logr.Logger

	home    *home.Home // nil before New has returned one
	books   *drive.Agent
	cancel  context.CancelFunc
	channel string // of the devices with which a template was built last
	built   int
	address string

	making  bool // New runs
	running bool // Run does
	stopped bool // it has returned, and so has who drives it
	dead    bool // the process has ended
	ending  bool // the process was asked to end
	refused string
	made    time.Duration // how long New took

	optimist, pessimist healthModel
	paused              bool
	unwell              int // times that it was seen to become unhealthy
	wasWell             bool
	asked               time.Duration // a round began
	answered            time.Duration // GetPod, with this Pod
	answeredKnown       bool

	evidence evidence
	losses   []string
	handling bool

	patches  []bool        // that succeeded
	doubtful bool          // one has failed since
	differs  time.Duration // since when the condition is not what it should be
	attempts int           // at the grant, by Run
	tried    time.Duration
	crashAt  int // the change of a file, counted from now, at which the process is to die
	requests int // to the API
	scope    facts

	lane lane
}

// begin is the start of a container.
func (s *State) begin(pod *grantPod, env *cluster.Env) *life {
	l := &life{state: s, pod: pod, n: len(pod.lives) + 1, env: env, log: s.logOf(env), wasWell: true}
	l.evidence.now = l.now
	pod.lives = append(pod.lives, l)
	s.lives = append(s.lives, l)
	pod.volumes.dir.resume()
	l.lane.begin(&pod.volumes.dir)
	return l
}

// end is the end of the process.
func (l *life) end() {
	l.dead, l.running = true, false
	// Whoever looks at what has been needs no more than that.
	l.lane.delivered, l.lane.base = nil, nil
}

// now is the time on the process's monotonic clock, whatever the clock that the home was
// given says.
func (l *life) now() time.Duration { return l.env.Sim().Monotonic() }

func (l *life) breaks(property, format string, args ...any) {
	l.state.breaks(property, fmt.Errorf(l.env.Process+": "+format, args...))
}

// newMargin is more than the work of New takes beside what it waits for.
const newMargin = 500 * time.Millisecond

func (l *life) beginNew() {
	l.making = true
	now := l.now()
	l.made = now
	l.asked = now
	l.optimist.begin(now)
	l.pessimist.begin(now)
}

// endNew judges what New has returned.
func (l *life) endNew(ctx context.Context, h *home.Home, err error) {
	l.making = false
	l.made = l.now() - l.made
	if l.made > home.DefaultGrantFetchTimeout+newMargin {
		l.breaks(newEndsInTime, "New takes %v", l.made)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		if !errors.Is(err, context.Cause(ctx)) {
			l.breaks(newEndsInTime, "New is cut short and says: %w", err)
		}
	case err != nil:
		l.refused = err.Error()
	case l.state.config.Fetch && !l.pod.volumes.dir.holds(l.pod.uid, l.env.Clock.Now()):
		l.breaks(newMeansAGrant, "New succeeds without an unexpired grant of its Pod in the directory")
	}
	if err == nil {
		l.home = h
	}
	l.env.Touch()
}

// ran runs the home.
func (l *life) ran(run func()) {
	l.running = true
	l.asked = l.now()
	run()
	l.running = false
	if l.handling {
		l.breaks(runLeavesNothing, "Run returns while a loss is handled")
	}
	l.env.Touch()
}

// acts notes that the home does something, which it must not after Run.
func (l *life) acts(what string) {
	if l.stopped {
		l.breaks(runLeavesNothing, "the home %s though Run has returned", what)
	}
}

// addressWait is how long the address may take, and one read.
const addressWait = 90*time.Second + home.DefaultStaleTTL

func (l *life) askAddress(h *home.Home) {
	from := l.now()
	l.address = h.EndpointHost()
	if took := l.now() - from; took > addressWait {
		l.breaks(devicesAndAddress, "EndpointHost takes %v", took)
	}
}

// scopeLost handles a loss as an agent does, and looks whether there is one.
func (l *life) scopeLost(ctx context.Context, reason string) {
	switch {
	case l.handling:
		l.breaks(lossesComeOnce, "%q is reported while another loss is handled", reason)
	case !l.running:
		l.breaks(lossesComeOnce, "%q is reported while Run does not run", reason)
	}
	for _, before := range l.losses {
		if before == reason {
			l.breaks(lossesComeOnce, "%q is reported twice", reason)
		}
	}
	if !l.evidence.has(reason) {
		l.breaks(lossesHaveEvidence, "%q is reported, which no answer of the API has said", reason)
	}
	l.losses = append(l.losses, reason)
	l.env.Event("scope-lost", l.pod.slot.name, uint64(len(l.losses)), "learns that its scope is lost: "+reason)
	l.env.Touch()
	l.handling = true
	defer func() { l.handling = false }()
	d := l.state.world.Engine().Stream("handling", l.pod.slot.name).Duration(dist(l.state.config.Handling))
	if l.env.Clock.Sleep(ctx, d) != nil {
		return
	}
	l.books.ScopeLost(ctx, reason)
}

// watched reports whether the home runs and nobody has stopped it meanwhile.
func (l *life) watched() bool { return l.running && !l.dead && l.home != nil }

// look judges a home that runs.
func (l *life) look() {
	l.lookAtHealth()
	l.lookAtRounds()
	l.lookAtScope()
}

// lookAtRounds judges whether the API server is asked as often as it should be. A
// round takes a Poll at most, and the next follows at once.
func (l *life) lookAtRounds() {
	poll := l.state.config.Poll.Std()
	if gap := l.now() - l.asked; gap > poll+poll/5+time.Second && !l.paused {
		l.breaks(roundsNeverWait, "the API server has not been asked for %v", gap)
	}
}

// origin is where the Pod's token may go.
func origin(url string) bool { return strings.HasPrefix(url, issuerURL+"/") }
