package gossip

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// history runs a stormy quarter of an hour and renders all of it.
func history(seed uint64) string {
	l := NewLab(seed)
	l.Links.Loss, l.Links.Duplicate, l.Links.Jitter = 200_000, 50_000, 3*time.Millisecond
	var all []*Node
	var names []string
	for i := range 6 {
		cfg := AgentConfig(fmt.Sprintf("n%d", i))
		cfg.Keyring = ringOf(1)
		n, err := l.Cluster.Create(cfg)
		if err != nil {
			panic(err)
		}
		n.Join(names, nil)
		names = append(names, n.Name())
		all = append(all, n)
		l.Run(time.Duration(i*37) * time.Millisecond)
	}
	for minute := range 15 {
		n := all[minute%6]
		switch minute % 4 {
		case 0:
			n.Crash()
			again, err := l.Cluster.Create(n.cfg)
			if err != nil {
				panic(err)
			}
			again.Join(names, nil)
			all[minute%6] = again
		case 1:
			n.Pause()
		case 2:
			l.Links.Partition([]Addr{0, 1, 2})
		case 3:
			l.Links.Heal()
			all[(minute-2)%6].Resume()
		}
		l.Run(time.Minute)
	}
	var b strings.Builder
	for _, ev := range l.Events {
		fmt.Fprintln(&b, ev)
	}
	fmt.Fprintln(&b, l.Steps)
	return b.String()
}

func TestSameSeedSameHistory(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(10) {
		first := history(seed)
		if diff := cmp.Diff(first, history(seed)); diff != "" {
			t.Fatalf("seed %d, two runs:\n%s", seed, diff)
		}
		if other, ok := seen[first]; ok {
			t.Errorf("seeds %d and %d have one history", seed, other)
		}
		seen[first] = seed
	}
}

// TestZeroIsAlwaysAnAnswer: an environment whose every choice is 0 is valid, for
// that is where shrinking leads.
func TestZeroIsAlwaysAnAnswer(t *testing.T) {
	l := NewLab(1)
	env := &zeroes{Lab: l}
	l.Cluster = NewCluster(env)
	var nodes []*Node
	var names []string
	for i := range 12 { // enough for sampling with replacement
		n, err := l.Cluster.Create(LocalConfig(fmt.Sprintf("n%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		n.Join(names, nil)
		names = append(names, n.Name())
		nodes = append(nodes, n)
		l.Run(10 * time.Millisecond)
	}
	l.Run(2 * time.Minute)
	for _, n := range nodes {
		if n.NumMembers() != 12 {
			t.Errorf("%s lists %v", n.Name(), n.Members())
		}
	}
	if env.worst > 15_000 {
		t.Errorf("a choice among %d is no choice that anybody can read", env.worst)
	}
}

type zeroes struct {
	*Lab
	worst int
}

func (z *zeroes) Intn(_ NodeID, n int) int {
	if n <= 1 {
		panic("asked for a choice of one")
	}
	z.worst = max(z.worst, n)
	return 0
}

func TestOrderOfAnInstant(t *testing.T) {
	l := NewLab(1)
	var got []string
	say := func(a any) { got = append(got, a.(string)) }
	l.After(2, time.Second, say, "node 2, first")
	l.After(1, time.Second, say, "node 1, first")
	l.After(2, time.Second, say, "node 2, second")
	cancelled := l.After(0, time.Second, say, "cancelled")
	l.After(3, 500*time.Millisecond, say, "earlier")
	l.At(0, func() { got = append(got, "now") })
	if !cancelled.Cancel() || cancelled.Cancel() {
		t.Error("a timer is not cancelled exactly once")
	}
	l.Run(time.Minute)
	want := []string{"now", "earlier", "node 1, first", "node 2, first", "node 2, second"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if cancelled.Cancel() || l.Now() != time.Minute {
		t.Errorf("now %v", l.Now())
	}
}

// TestQueueAgainstASort pushes, cancels and pops at random.
func TestQueueAgainstASort(t *testing.T) {
	r := newLabRand(1, 1)
	type call struct {
		at    time.Duration
		node  NodeID
		seq   int
		timer labTimer
	}
	for range 50 {
		q := &labQueue{}
		var want []call
		var got []int
		for i := range 300 {
			c := call{at: time.Duration(r.intn(50)), node: NodeID(r.intn(4)), seq: i}
			c.timer = q.push(c.at, c.node, func(a any) { got = append(got, a.(int)) }, i)
			want = append(want, c)
			if r.intn(3) == 0 {
				j := r.intn(len(want))
				want[j].timer.Cancel()
				want = append(want[:j], want[j+1:]...)
			}
		}
		for q.step(time.Hour) {
			continue
		}
		sort.SliceStable(want, func(i, j int) bool {
			if want[i].at != want[j].at {
				return want[i].at < want[j].at
			}
			return want[i].node < want[j].node
		})
		var order []int
		for _, c := range want {
			order = append(order, c.seq)
		}
		if diff := cmp.Diff(order, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestLinks(t *testing.T) {
	l := NewLab(1)
	a, b, c := l.Cluster.Addr("a"), l.Cluster.Addr("b"), l.Cluster.Addr("c")
	count := func(from, to Addr) int {
		before := len(l.queue.heap)
		for range 1000 {
			_ = l.Send(&Envelope{From: from, To: to})
		}
		return len(l.queue.heap) - before
	}
	near := func(got, want int) bool { return got > want-60 && got < want+60 }
	if got := count(a, b); got != 1000 {
		t.Errorf("%d of 1000 on a calm link", got)
	}
	l.Links.Loss = 300_000
	if got := count(a, b); !near(got, 700) {
		t.Errorf("%d of 1000 with 30%% loss", got)
	}
	l.Links.Loss, l.Links.Duplicate = 0, 100_000
	if got := count(a, b); !near(got, 1100) {
		t.Errorf("%d of 1000 with 10%% duplication", got)
	}
	l.Links.Duplicate = 0
	l.Links.Cut(a, b)
	if count(a, b) != 0 || count(b, a) != 1000 {
		t.Error("a cut is directed")
	}
	l.Links.Mend(a, b)
	l.Links.Partition([]Addr{a}, []Addr{b})
	if count(a, b)+count(b, c)+count(a, c) != 0 || count(c, c) != 1000 {
		t.Error("a partition separates its groups and the rest")
	}
	l.Links.Heal()
	if count(a, b) != 1000 {
		t.Error("healing heals")
	}
}

func TestEventNames(t *testing.T) {
	for k := EventJoin; k <= EventDown; k++ {
		if k.String() == "" || k.String() == "unknown" {
			t.Errorf("event kind %d has no name", k)
		}
	}
	if EventKind(99).String() != "unknown" || State(9).String() != "unknown" {
		t.Error("what is unknown says so")
	}
}
