package cluster_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// TestFaultKindsAreDescribed looks after what lists, schema and documentation
// say about each kind.
func TestFaultKindsAreDescribed(t *testing.T) {
	last := ""
	for _, k := range cluster.FaultKinds() {
		switch {
		case k.Name <= last:
			t.Errorf("%s comes after %s", k.Name, last)
		case !strings.HasSuffix(k.Meaning, "."):
			t.Errorf("%s: the meaning is no sentence: %q", k.Name, k.Meaning)
		case len(k.Sites) == 0, k.Strikes == "", len(k.Knobs) == 0:
			t.Errorf("%s: sites, strikes or knobs are missing", k.Name)
		case cluster.LookupFault(k.Name) != k:
			t.Errorf("%s is not found by its name", k.Name)
		}
		last = k.Name
	}
}

func TestFaultValidate(t *testing.T) {
	const s = time.Second
	tests := []struct {
		fault cluster.Fault
		want  string
	}{
		{cluster.Fault{Kind: "node-crash"}, ""},
		{cluster.Fault{Kind: "earthquake"}, `unknown fault "earthquake"`},
		{cluster.Fault{Kind: "node-crash", Rate: 1_000_001}, "fault node-crash: rate 1000001 ppm is above one"},
		{cluster.Fault{Kind: "node-crash", Span: engine.Dist{Min: -1}}, "fault node-crash: negative span"},
		{cluster.Fault{Kind: "node-crash", From: -1}, "fault node-crash: negative time"},
		{cluster.Fault{Kind: "node-crash", From: 2 * s, Until: s}, "fault node-crash: until 1s is not after from 2s"},
	}
	for _, tt := range tests {
		got := ""
		if err := tt.fault.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.fault, got, tt.want)
		}
	}
}

// TestFaultTargets says which processes a fault strikes.
func TestFaultTargets(t *testing.T) {
	tests := []struct {
		fault cluster.Fault
		want  string
	}{
		{cluster.Fault{}, "node-1/agent node-1/other node-2/agent"},
		{cluster.Fault{Target: "*"}, "node-1/agent node-1/other node-2/agent"},
		{cluster.Fault{Target: "node-1/*"}, "node-1/agent node-1/other"},
		{cluster.Fault{Target: "*/agent"}, "node-1/agent node-2/agent"},
		{cluster.Fault{Target: "node-1/other, node-2/agent"}, "node-1/other node-2/agent"},
		{cluster.Fault{Target: "node-*/a*t"}, "node-1/agent node-2/agent"},
		{cluster.Fault{Target: "node-1"}, ""},
		{cluster.Fault{Verb: "create"}, "node-1/agent node-1/other node-2/agent"},
		{cluster.Fault{Verb: "update"}, ""},
		{cluster.Fault{Key: "configmaps/default/node-2*"}, "node-2/agent"},
		{cluster.Fault{From: 2 * time.Second}, ""},
		{cluster.Fault{Until: 500 * time.Millisecond}, ""},
		{cluster.Fault{From: 500 * time.Millisecond, Until: 2 * time.Second}, "node-1/agent node-1/other node-2/agent"},
	}
	for _, tt := range tests {
		tt.fault.Kind = "api-error-500"
		var picks []engine.Pick
		names := []string{"node-1/agent", "node-1/other", "node-2/agent"}
		for _, name := range names {
			picks = append(picks, strikes("api-error-500/"+name, 0))
		}
		l := newLab(t, cluster.Config{Profile: cluster.Profile{Faults: []cluster.Fault{tt.fault}}}, picks...)
		failed := map[string]bool{}
		for _, name := range names {
			node, proc, _ := strings.Cut(name, "/")
			l.c.Node(node).Process(cluster.ProcessSpec{Name: proc, Main: func(ctx context.Context, env *cluster.Env) {
				_ = env.Clock.Sleep(ctx, time.Second)
				failed[name] = env.Kube.Create(ctx, object(node+"-"+proc, "")) != nil
				_ = env.Clock.Sleep(ctx, time.Hour)
			}})
		}
		l.run(10 * time.Second)
		var got []string
		for _, name := range names {
			if failed[name] {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v strikes %v, want %s", tt.fault, got, tt.want)
		}
	}
}

// TestNetworkFaults sends ten messages over a link under each fault.
func TestNetworkFaults(t *testing.T) {
	tests := []struct {
		fault cluster.Fault
		picks []engine.Pick
		want  []string
	}{
		{
			fault: cluster.Fault{Kind: "network-loss"},
			picks: []engine.Pick{strikes("net-loss/node-1>node-2", 1)},
			want:  []string{"1001: 0", "3001: 2"},
		},
		{
			fault: cluster.Fault{Kind: "network-loss", Target: "node-2>node-1"},
			picks: []engine.Pick{strikes("net-loss/node-1>node-2", 1)},
			want:  []string{"1001: 0", "2001: 1", "3001: 2"},
		},
		{
			fault: cluster.Fault{Kind: "network-duplicate"},
			picks: []engine.Pick{strikes("net-duplicate/node-1>node-2", 1)},
			want:  []string{"1001: 0", "2001: 1", "2001: 1", "3001: 2"},
		},
		{
			fault: cluster.Fault{Kind: "network-delay", Span: engine.Constant(1500 * time.Millisecond), Until: 2500 * time.Millisecond},
			want:  []string{"2501: 0", "3501: 1", "3501: 2"},
		},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.fault.Kind, tt.fault.Target), func(t *testing.T) {
			l := newLab(t, cluster.Config{
				Network: network.Quality{Delay: engine.Constant(time.Millisecond)},
				Profile: cluster.Profile{Faults: []cluster.Fault{tt.fault}},
			}, tt.picks...)
			l.c.Network().Host("node-2").Listen("p", func(p network.Packet) { l.say("%v", p.Payload) })
			for i := range 3 {
				l.at(time.Duration(i+1)*time.Second, func() { l.c.Network().Host("node-1").Send("node-2", "p", i) })
			}
			l.run(time.Minute, tt.want...)
		})
	}
}

// TestNetworkFaultsOfManyNodes sees that a network fault costs nothing per link, of
// which there are four million here, and reaches a node that joins later.
func TestNetworkFaultsOfManyNodes(t *testing.T) {
	l := newLab(t, cluster.Config{Nodes: 2000, Network: network.Quality{Delay: engine.Constant(time.Millisecond)}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l.c.StartFault(cluster.Fault{Kind: "network-delay", Span: engine.Constant(time.Second)})()
	stop := l.c.StartFault(cluster.Fault{Kind: "network-delay", Target: "node-1>late", Span: engine.Constant(time.Second)})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("two network faults have allocated %d bytes", n)
	}
	l.c.AddNode("late")
	for _, to := range []string{"late", "node-2"} {
		l.c.Network().Host(to).Listen("p", func(p network.Packet) { l.say("%s hears %v", to, p.Payload) })
		send := func(what string) { l.c.Network().Host("node-1").Send(to, "p", what) }
		send("during")
		l.at(2*time.Second, func() { stop(); send("after") })
	}
	l.run(time.Minute, "1: node-2 hears during", "1001: late hears during", "2001: late hears after", "2001: node-2 hears after")
}

// TestFaultsCease sees that a fault in force ends with all others, and that none
// begins afterwards.
func TestFaultsCease(t *testing.T) {
	l := newLab(t, cluster.Config{Profile: cluster.Profile{
		Faults:  []cluster.Fault{{Kind: "node-crash", Every: time.Second, Span: engine.Constant(time.Hour)}},
		CeaseAt: 10 * time.Second,
	}}, strikes("node-crash/0", 3), strikes("node-crash/0", 12))
	for _, seconds := range []int{3, 5, 11, 15} {
		l.at(time.Duration(seconds)*time.Second, func() { l.say("down: %v", l.c.Node("node-1").Down()) })
	}
	l.run(time.Minute, "3000: down: false", "5000: down: true", "11000: down: false", "15000: down: false")
	l.c.StartFault(cluster.Fault{Kind: "partition"})
	if !l.c.Ceased() || l.c.Parted() {
		t.Error("a fault began after faults had ceased")
	}
}

// TestStrokesKeepNoGrid sees that timed faults strike between their periods, not
// only on them, and never once they have been stopped.
func TestStrokesKeepNoGrid(t *testing.T) {
	every := 10 * time.Second
	c := cluster.New(cluster.Config{
		Nodes: 3, Engine: engine.Config{Source: engine.NewSeed(1), Trace: engine.TraceFull, Idle: engine.IdleAllowed},
		Profile: cluster.Profile{CeaseAt: 10 * time.Minute, Faults: []cluster.Fault{
			{Kind: "partition", Rate: 500_000, Every: every}, {Kind: "node-crash", Rate: 500_000, Every: every},
		}},
	})
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	res := c.Engine().RunUntil(20 * time.Minute)
	strokes, onGrid := 0, 0
	quarters := map[time.Duration]bool{}
	for _, r := range res.Records {
		if r.Kind != "fault" || r.Verb != "partition" && r.Verb != "node-crash" {
			continue
		}
		strokes++
		if r.At%every == 0 {
			onGrid++
		}
		quarters[r.At%every*4/every] = true
		if r.At > 10*time.Minute {
			t.Errorf("%s at %v, after faults have ceased", r.Verb, r.At)
		}
	}
	if strokes < 40 || onGrid > 0 || len(quarters) != 4 {
		t.Errorf("%d strokes, %d of them on the grid, in %d quarters of the period", strokes, onGrid, len(quarters))
	}
	l := newLab(t, cluster.Config{Profile: cluster.Profile{Faults: []cluster.Fault{{Kind: "node-crash", Every: every}}}},
		strikes("node-crash/0", 0), pick("when/node-crash/0/1", 0, uint64(5*time.Second)))
	for _, seconds := range []int{14, 16} {
		l.at(time.Duration(seconds)*time.Second, func() { l.say("down: %v", l.c.Node("node-1").Down()) })
	}
	l.run(20*time.Second, "14000: down: false", "16000: down: true")
}

func TestProfiles(t *testing.T) {
	kinds := func(p cluster.Profile) (names []string) {
		for _, f := range p.Faults {
			names = append(names, f.Kind)
		}
		return names
	}
	all := kinds(cluster.Stormy())
	preset := 0
	for _, k := range cluster.FaultKinds() {
		if !k.Opt {
			preset++
		}
	}
	if len(all) != preset {
		t.Errorf("stormy has %d kinds of %d", len(all), preset)
	}
	if n := len(kinds(cluster.Stormy().Without("partition", "node-crash"))); n != len(all)-2 {
		t.Errorf("without two kinds there are %d of %d", n, len(all))
	}
	if got := kinds(cluster.Stormy().Only("partition")); len(got) != 1 || got[0] != "partition" {
		t.Errorf("only partitions: %v", got)
	}
	if len(kinds(cluster.Calm())) != 0 {
		t.Error("calm has faults")
	}
}
