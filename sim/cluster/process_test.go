package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/disk"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

func TestRestartPolicy(t *testing.T) {
	tests := []struct {
		name string
		spec cluster.Restart
		want []string
	}{
		{
			name: "a kubelet waits 10 s, 20 s, 40 s between starts, and a second each time",
			want: []string{"0: 1", "1000: 2", "12000: 3", "33000: 4", "74000: 5", "155000: 6"},
		},
		{
			name: "own delays",
			spec: cluster.Restart{Delay: time.Millisecond, Base: time.Second, Max: 2 * time.Second},
			want: []string{"0: 1", "1: 2", "1002: 3", "3003: 4", "5004: 5", "7005: 6"},
		},
		{
			name: "never",
			spec: cluster.Restart{Never: true},
			want: []string{"0: 1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, cluster.Config{})
			l.c.ControlPlane().Process(cluster.ProcessSpec{
				Name: "job", Restart: tt.spec,
				Main: func(ctx context.Context, env *cluster.Env) {
					l.say("%d", env.Incarnation)
					if env.Incarnation == 6 {
						_ = env.Clock.Sleep(ctx, time.Hour)
					}
				},
			})
			l.run(5*time.Minute, tt.want...)
		})
	}
}

// TestBackoffEndsWithFaults crashes a process at each of its starts, until faults
// cease. A restart that somebody has asked for keeps its time.
func TestBackoffEndsWithFaults(t *testing.T) {
	l := newLab(t, cluster.Config{Profile: cluster.Profile{CeaseAt: 80 * time.Second}})
	main := func(ctx context.Context, env *cluster.Env) {
		l.say("%s %d", env.Process, env.Incarnation)
		_ = env.Clock.Sleep(ctx, time.Hour)
	}
	p := l.agent(main)
	for _, seconds := range []int{0, 2, 34, 75} {
		l.at(time.Duration(seconds)*time.Second+time.Millisecond, p.Crash)
	}
	other := l.c.Node("node-2").Process(cluster.ProcessSpec{Name: "agent", Main: main})
	l.at(70*time.Second, func() { other.Restart(time.Minute) })
	l.at(90*time.Second, p.Crash)
	l.run(5*time.Minute,
		"0: node-1/agent 1", "0: node-2/agent 1", "1001: node-1/agent 2", "13001: node-1/agent 3",
		"55001: node-1/agent 4", "81000: node-1/agent 5", "91000: node-1/agent 6",
		"130000: node-2/agent 2",
	)
}

func TestALongLifeForgetsEarlierEnds(t *testing.T) {
	l := newLab(t, cluster.Config{})
	p := l.agent(func(ctx context.Context, env *cluster.Env) {
		l.say("%d", env.Incarnation)
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	for _, at := range []time.Duration{time.Second, 3 * time.Second, 11 * time.Minute} {
		l.at(at, p.Crash)
	}
	l.run(20*time.Minute, "0: 1", "2000: 2", "14000: 3", "661000: 4")
}

func TestStopAndStart(t *testing.T) {
	l := newLab(t, cluster.Config{})
	p := l.agent(func(ctx context.Context, env *cluster.Env) {
		env.OnEnd(func() { l.say("end of %d", env.Incarnation) })
		l.say("%d", env.Incarnation)
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.at(time.Second, p.Stop)
	l.at(2*time.Second, p.Stop)
	l.at(time.Minute, p.Start)
	l.at(2*time.Minute, func() { p.Restart(5 * time.Second) })
	l.run(5*time.Minute, "0: 1", "1000: end of 1", "60000: 2", "120000: end of 2", "125000: 3")
}

func TestPausesOverlap(t *testing.T) {
	l := newLab(t, cluster.Config{})
	p := l.agent(func(ctx context.Context, env *cluster.Env) {
		for range 6 {
			l.say("tick")
			_ = env.Clock.Sleep(ctx, time.Second)
		}
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.at(1500*time.Millisecond, func() { p.Pause(2 * time.Second) })
	l.at(2000*time.Millisecond, func() { p.Pause(4 * time.Second) })
	l.run(time.Minute, "0: tick", "1000: tick", "6000: tick", "7000: tick", "8000: tick", "9000: tick")
}

// TestNodeCrash takes a node down: its processes end, its disk loses what was
// not synced, and nobody reaches it until it boots.
func TestNodeCrash(t *testing.T) {
	l := newLab(t, cluster.Config{
		Network: network.Quality{Delay: engine.Constant(time.Millisecond)},
		Disk:    disk.Harsh(),
	}, strikes("disk-lose-names/node-1", 0))
	n := l.c.Node("node-1")
	l.agent(func(ctx context.Context, env *cluster.Env) {
		disk := env.Disk()
		names, err := disk.List(ctx, ".")
		l.must(err)
		l.say("boot %d finds %v", env.Incarnation, names)
		l.must(disk.WriteFile(ctx, "synced", []byte("x")))
		l.must(disk.Sync(ctx, "synced"))
		l.must(disk.SyncDir(ctx, "."))
		l.must(disk.WriteFile(ctx, "unsynced", []byte("x")))
		env.Network().ListenIn(env.Sim(), "port", func(p network.Packet) { l.say("%s hears %v", env.Node, p.Payload) })
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.c.Node("node-2").Process(cluster.ProcessSpec{Name: "agent", Main: func(ctx context.Context, env *cluster.Env) {
		for i := range 6 {
			_ = env.Clock.Sleep(ctx, 10*time.Second)
			env.Network().Send("node-1", "port", i)
		}
		_ = env.Clock.Sleep(ctx, time.Hour)
	}})
	l.at(15*time.Second, func() { n.Restart(20 * time.Second) })
	l.run(70*time.Second,
		"0: boot 1 finds []",
		"10001: node-1 hears 0",
		"36000: boot 2 finds [synced]",
		"40001: node-1 hears 3", "50001: node-1 hears 4", "60001: node-1 hears 5",
	)
}

func TestNodeClock(t *testing.T) {
	l := newLab(t, cluster.Config{})
	n := l.c.Node("node-1")
	main := func(ctx context.Context, env *cluster.Env) {
		for range 3 {
			_ = env.Clock.Sleep(ctx, 10*time.Second)
			l.say("%s: wrong by %v", env.Process, env.Clock.Now().Sub(l.c.Engine().Now()))
		}
		_ = env.Clock.Sleep(ctx, time.Hour)
	}
	l.agent(main)
	l.at(15*time.Second, func() {
		n.SetClock(-time.Minute, 0)
		n.Process(cluster.ProcessSpec{Name: "late", Main: main}) // gets the clock of its node
	})
	l.at(26*time.Second, func() { n.SetClock(0, 0) })
	l.run(50*time.Second,
		"10000: node-1/agent: wrong by 0s",
		"20000: node-1/agent: wrong by -1m0s",
		"25000: node-1/late: wrong by -1m0s",
		"30000: node-1/agent: wrong by 0s",
		"35000: node-1/late: wrong by 0s",
		"45000: node-1/late: wrong by 0s",
	)
}

func TestEntropyDiffersBetweenIncarnations(t *testing.T) {
	l := newLab(t, cluster.Config{})
	seen := map[[8]byte]bool{}
	p := l.agent(func(ctx context.Context, env *cluster.Env) {
		var b [8]byte
		_, err := env.Entropy.Read(b[:])
		l.must(err)
		l.say("new: %v", !seen[b])
		seen[b] = true
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.at(time.Second, p.Crash)
	l.run(time.Minute, "0: new: true", "2000: new: true")
}
