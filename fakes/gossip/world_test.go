package gossip

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"
)

// world is a Lab with a few nodes called a, b, c, ... in it.
type world struct {
	*Lab
	t     *testing.T
	nodes map[string]*Node
}

func newWorld(t *testing.T) *world {
	return &world{Lab: NewLab(1), t: t, nodes: map[string]*Node{}}
}

// cluster makes a world of count nodes that all list each other, with nothing
// left to say, and forgets the events of getting there.
func cluster(t *testing.T, count int, config func(string) Config) *world {
	t.Helper()
	w := newWorld(t)
	var names []string
	for i := range count {
		name := string(rune('a' + i))
		w.start(config(name)).Join(names, nil)
		names = append(names, name)
		w.Run(70 * time.Millisecond)
	}
	if !w.RunUntil(time.Minute, func() bool { return w.quiet() && w.complete() }) {
		t.Fatalf("the cluster did not form: %s", w.views())
	}
	w.Events = nil
	return w
}

func (w *world) start(cfg Config) *Node {
	w.t.Helper()
	n, err := w.Cluster.Create(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.nodes[cfg.Name] = n
	return n
}

func (w *world) id(name string) NodeID { return w.Cluster.ID(name) }

func (w *world) quiet() bool {
	for _, n := range w.nodes {
		if len(n.queue.items) > 0 {
			return false
		}
	}
	return true
}

func (w *world) complete() bool {
	for _, n := range w.nodes {
		if n.NumMembers() != len(w.nodes) {
			return false
		}
	}
	return true
}

// views renders who lists whom: "a:abc b:abc c:c".
func (w *world) views() string {
	var out []string
	for name, n := range w.nodes {
		if n.Up() {
			members := n.Members()
			sort.Strings(members)
			out = append(out, name+":"+strings.Join(members, ""))
		}
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

// story renders the events so far, without times: "a leave b (suspicion by a)".
func (w *world) story() []string {
	var out []string
	for _, ev := range w.Events {
		line := fmt.Sprintf("%s %s %s", w.Cluster.Name(ev.Node), ev.Kind, w.Cluster.Name(ev.Peer))
		var details []string
		if ev.Reason != "" {
			details = append(details, ev.Reason)
		}
		if ev.By != Nobody {
			details = append(details, "by "+w.Cluster.Name(ev.By))
		}
		if details != nil {
			line += " (" + strings.Join(details, " ") + ")"
		}
		out = append(out, line)
	}
	return out
}

// inject delivers a forged plaintext packet from endpoint x, now.
func (w *world) inject(to string, m Msg) {
	w.Cluster.Deliver(w.Cluster.Forge("x", to, "", nil, m))
}

// testKey makes a key of 32 equal bytes.
func testKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// ringOf makes a ring of test keys, the first being the primary.
func ringOf(bs ...byte) *Ring {
	r := &Ring{}
	for _, b := range bs {
		if err := r.AddKey(testKey(b)); err != nil {
			panic(err)
		}
	}
	return r
}

// calm is LocalConfig without periodic push/pull and probes, for tests that
// want nothing to happen by itself.
func calm(name string) Config {
	cfg := LocalConfig(name)
	cfg.ProbeInterval, cfg.PushPullInterval = 10*time.Hour, 10*time.Hour
	return cfg
}
