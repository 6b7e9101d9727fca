package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// rivals use one object: the first agent reads it at second one and does what it is
// told at second three, the second agent reads it at second two and writes it at second
// five, if it does at all.
func rivals(l *lab, writes bool, first func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap)) {
	l.create("x", "old")
	rival := func(node string, waits time.Duration, then func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap)) {
		l.c.Node(node).Process(cluster.ProcessSpec{Name: "agent", Main: func(ctx context.Context, env *cluster.Env) {
			_ = env.Clock.Sleep(ctx, waits)
			x := &corev1.ConfigMap{}
			l.must(env.Kube.Get(ctx, keyOf("x"), x))
			then(ctx, env, x)
			_ = env.Clock.Sleep(ctx, time.Hour)
		}})
	}
	rival("node-1", time.Second, func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap) {
		_ = env.Clock.Sleep(ctx, 2*time.Second)
		first(ctx, env, x)
	})
	rival("node-2", 2*time.Second, func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap) {
		_ = env.Clock.Sleep(ctx, 3*time.Second)
		if writes {
			x.Data["v"] = "new"
			l.must(env.Kube.Update(ctx, x))
		}
	})
}

// TestOvertaken holds up a request, or its answer, until somebody else has written the
// object.
func TestOvertaken(t *testing.T) {
	update := func(l *lab) func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap) {
		return func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap) {
			l.say("update: %v", env.Kube.Update(ctx, x) == nil)
		}
	}
	read := func(l *lab) func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap) {
		return func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap) {
			l.must(env.Kube.Get(ctx, keyOf("x"), x))
			l.say("reads %s", x.Data["v"])
		}
	}
	for _, test := range []struct {
		name   string
		fault  string
		writes bool
		then   func(*lab) func(ctx context.Context, env *cluster.Env, x *corev1.ConfigMap)
		want   string
	}{
		{"an update that is overtaken is late, and refused", "api-overtaken-request", true, update, "5004: update: false"},
		{"a read that is overtaken sees what came in between", "api-overtaken-request", true, read, "5004: reads new"},
		{"an answer that is overtaken is out of date", "api-overtaken-answer", true, read, "5004: reads old"},
		{"a request goes on when nobody comes", "api-overtaken-request", false, update, "7004: update: true"},
		{"an answer goes on when nobody comes", "api-overtaken-answer", false, read, "7004: reads old"},
	} {
		t.Run(test.name, func(t *testing.T) {
			faults := cluster.Profile{Faults: []cluster.Fault{{Kind: test.fault, Target: "node-1/agent", Span: engine.Constant(4 * time.Second)}}}
			l := newLab(t, cluster.Config{Profile: faults}, strikes(test.fault+"/node-1/agent", 1))
			rivals(l, test.writes, test.then(l))
			l.run(10*time.Second, test.want)
		})
	}
}

// What one process alone uses is its own in the end, and is not held up any more.
func TestWhatNobodyElseUsesIsNotOvertaken(t *testing.T) {
	faults := cluster.Profile{Faults: []cluster.Fault{{Kind: "api-overtaken-answer", Rate: 1_000_000}}}
	l := newLab(t, cluster.Config{Profile: faults}, strikes("api-overtaken-answer/node-1/agent", 0), strikes("api-overtaken-answer/node-1/agent", 1),
		strikes("api-overtaken-answer/node-1/agent", 2), strikes("api-overtaken-answer/node-1/agent", 3))
	l.create("mine", "")
	l.agent(func(ctx context.Context, env *cluster.Env) {
		for range 5 {
			l.must(env.Kube.Get(ctx, keyOf("mine"), object("", "")))
			l.say("read")
		}
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.run(10*time.Second, "1002: read", "2004: read", "3006: read", "3008: read", "3010: read")
}

// TestWatchIsOvertaken holds events up until the process that watches has written
// something, or for as long as they wait at most.
func TestWatchIsOvertaken(t *testing.T) {
	for _, test := range []struct {
		name   string
		writes bool
		want   []string
	}{
		{"by a write", true, []string{"1500: sees false", "1504: sees true"}},
		{"by nothing, for a second", false, []string{"1500: sees false", "1504: sees false", "2500: sees true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			faults := cluster.Profile{Faults: []cluster.Fault{{Kind: "watch-overtaken", Target: "node-1/agent"}}}
			l := newLab(t, cluster.Config{Profile: faults}, strikes("watch-overtaken/node-1/agent", 1))
			l.agent(func(ctx context.Context, env *cluster.Env) {
				see := func(after time.Duration) (seen bool) {
					_ = env.Clock.Sleep(ctx, after)
					var list corev1.ConfigMapList
					l.must(env.Cache.List(ctx, &list, client.InNamespace("default"), client.MatchingLabels{"v": "seen"}))
					return len(list.Items) > 0
				}
				see(0)
				_ = env.Clock.Sleep(ctx, 1500*time.Millisecond-l.c.Engine().Elapsed())
				l.say("sees %t", see(0))
				if test.writes {
					l.must(env.Kube.Create(ctx, object("written", "")))
				} else {
					_ = env.Clock.Sleep(ctx, 2*time.Millisecond)
				}
				l.say("sees %t", see(2*time.Millisecond))
				if !test.writes {
					l.say("sees %t", see(996*time.Millisecond))
				}
				_ = env.Clock.Sleep(ctx, time.Hour)
			})
			l.at(time.Second, func() { l.create("x", "seen") })
			l.run(10*time.Second, test.want...)
		})
	}
}
