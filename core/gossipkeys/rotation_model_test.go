package gossipkeys_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// modelNode is an agent reduced to what matters to its peers: when it looks at
// the Secret, what its ring holds, and when what it says of it arrives.
type modelNode struct {
	name    string
	running bool
	seen    int               // index into model.history
	posting gossipkeys.Report // computed, not yet arrived; may outlive the process
}

type model struct {
	*fleet
	history []gossipkeys.Report // every list that was in the Secret
	nodes   []*modelNode
	story   []string
}

// sync takes note of a list that was just written.
func (m *model) sync() {
	var v gossipkeys.Version
	var list gossipkeys.Keys
	watcher := gossipkeys.NewSecretWatcher(m.memory, namespace,
		gossipkeys.WithVersions(func(version gossipkeys.Version, ks gossipkeys.Keys) { v, list = version, ks }))
	if _, err := watcher.Watch(func(gossipkeys.Keys) {}).Reconciler.Reconcile(m.t.Context(), secretRequest()); err != nil {
		m.t.Fatal(err)
	}
	now := gossipkeys.Report{Version: v, Keys: list.Fingerprints()}
	if len(m.history) == 0 || !m.history[len(m.history)-1].Same(now) {
		m.history = append(m.history, now)
		m.tell("the Secret is at generation %d: %v", v.Generation, now.Keys)
	}
}

func (m *model) tell(format string, args ...any) {
	m.story = append(m.story, fmt.Sprintf(format, args...))
}

// agents makes one agent do one thing.
func (m *model) agents(rt *rapid.T) {
	n := m.nodes[rapid.IntRange(0, len(m.nodes)-1).Draw(rt, "node")]
	switch what := rapid.SampledFrom([]string{"watch", "watch", "compute", "post", "post", "crash", "start"}).Draw(rt, "what"); {
	case what == "watch" && n.running:
		n.seen = rapid.IntRange(n.seen, len(m.history)-1).Draw(rt, "at")
	case what == "compute" && n.running:
		n.posting = m.history[n.seen]
	case what == "post" && len(n.posting.Keys) > 0:
		m.reports(n.name, n.posting)
	case what == "crash":
		n.running = false
	case what == "start" && !n.running:
		n.running, n.seen = true, len(m.history)-1 // a live start
	default:
		return
	}
	m.tell("%s: running %t, ring at generation %d", n.name, n.running, m.history[n.seen].Generation)
}

// operator calls one method of a Rotator that has just started, perhaps over an
// API that fails or loses the answer.
func (m *model) operator(rt *rapid.T) {
	m.before, m.after = nil, nil
	switch rapid.IntRange(0, 5).Draw(rt, "trouble") {
	case 5:
		m.before = failing("update", errTimeout)
	case 4:
		m.after = failing("update", errTimeout)
	}
	r := m.rotator()
	var err error
	what := rapid.SampledFrom([]string{"advance", "advance", "advance", "start", "abort", "resume"}).Draw(rt, "call")
	switch what {
	case "advance":
		_, err = r.Advance(m.t.Context())
	case "start":
		err = r.Start(m.t.Context())
	case "abort":
		err = r.Abort(m.t.Context())
	case "resume":
		err = r.Resume(m.t.Context())
	}
	m.before, m.after = nil, nil
	if err != nil && !apierrors.IsTimeout(err) && !errors.Is(err, gossipkeys.ErrRotating) &&
		!errors.Is(err, gossipkeys.ErrNotRotating) && !errors.Is(err, gossipkeys.ErrNotConverged) {
		rt.Fatalf("%s: %v", what, err)
	}
	m.sync()
}

// check is invariant 14: every running agent can read every other.
func (m *model) check(rt *rapid.T) {
	var stances []gossipkeys.Stance
	var names []string
	for _, n := range m.nodes {
		if n.running {
			stances = append(stances, gossipkeys.Stance{Ring: m.history[n.seen].Keys, VerifyIncoming: true, VerifyOutgoing: true})
			names = append(names, n.name)
		}
	}
	if from, to, ok := gossipkeys.AllTalk(stances); !ok {
		rt.Fatalf("%s with %v cannot read %s with %v:\n%s", names[to], stances[to].Ring, names[from], stances[from].Ring,
			strings.Join(m.story, "\n"))
	}
}

// Invariant 14: whatever the order in which nodes follow, crash, start and
// report, whenever a rotation is started, aborted and resumed, and whatever the
// API does to the writes, no two running agents are ever deaf to each other.
func TestRotationNeverMakesDeaf(t *testing.T) {
	ended := map[gossipkeys.Phase]int{}
	for range 10 { // rapid makes 100 runs of it each time, unless told otherwise
		rapid.Check(t, func(rt *rapid.T) { ended[randomRotation(t, rt)]++ })
	}
	t.Logf("phases at the end: %v", ended)
	if ended[gossipkeys.PhaseFinished] == 0 || ended[gossipkeys.PhaseAborted] == 0 {
		t.Error("the runs do not get far enough to mean anything")
	}
}

func randomRotation(t *testing.T, rt *rapid.T) gossipkeys.Phase {
	names := []string{"x", "y", "z"}[:rapid.IntRange(1, 3).Draw(rt, "nodes")]
	m := &model{fleet: newFleet(t, "K", names...)}
	for _, name := range names {
		m.nodes = append(m.nodes, &modelNode{name: name, running: true})
	}
	m.clock.onSleep = func() {
		m.sync()
		for range rapid.IntRange(0, 4).Draw(rt, "during the settle time") {
			m.agents(rt)
			m.check(rt)
		}
	}
	m.sync()
	m.do(m.rotator().Start)
	m.sync()
	rt.Repeat(map[string]func(*rapid.T){
		"agents":   m.agents,
		"agents 2": m.agents,
		"agents 3": m.agents,
		"operator": m.operator,
		"one well": func(rt *rapid.T) { // so that runs get far
			n := m.nodes[rapid.IntRange(0, len(m.nodes)-1).Draw(rt, "node")]
			n.running, n.seen = true, len(m.history)-1
			m.reports(n.name, m.history[n.seen])
		},
		"": m.check,
	})
	p, err := m.rotator().Progress(t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	return p.Phase
}
