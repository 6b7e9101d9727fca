package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// TestFaultsOfRequestsThatNoTaskSends fills a cache. Its first request opens a
// watch, the next, should that fail, is a list.
func TestFaultsOfRequestsThatNoTaskSends(t *testing.T) {
	tests := []struct {
		name  string
		kinds []string
		picks []engine.Pick
		want  string
	}{
		{"nothing goes wrong", []string{"api-latency"}, nil, "2: 1 in incarnation 1"},
		{
			"the request for the watch takes longer", []string{"api-latency"},
			[]engine.Pick{strikes("api-latency/node-1/agent", 0)}, "1002: 1 in incarnation 1",
		},
		{
			"its answer takes longer", []string{"api-latency"},
			[]engine.Pick{strikes("api-latency/node-1/agent", 0), pick("span/api-latency/node-1/agent", 0, 1)}, "1001: 1 in incarnation 1",
		},
		{
			"the request for the watch is lost, and a list is tried", []string{"api-loss-request"},
			[]engine.Pick{strikes("api-loss-request/node-1/agent", 0)}, "3: 1 in incarnation 1",
		},
		{
			"its answer is lost", []string{"api-loss-response"},
			[]engine.Pick{strikes("api-loss-response/node-1/agent", 0)}, "4: 1 in incarnation 1",
		},
		{
			"the list is lost as well, and sent again by the client", []string{"api-loss-request"},
			[]engine.Pick{strikes("api-loss-request/node-1/agent", 0), strikes("api-loss-request/node-1/agent", 1)}, "1004: 1 in incarnation 1",
		},
		{
			"what the client sends again is lost as well", []string{"api-loss-request"},
			[]engine.Pick{
				strikes("api-loss-request/node-1/agent", 0), strikes("api-loss-request/node-1/agent", 1),
				strikes("api-loss-request/node-1/agent", 2),
			}, "2005: 1 in incarnation 1",
		},
		{
			"a crash before the watch is opened", []string{"process-crash"},
			[]engine.Pick{strikes("process-crash/node-1/agent", 0)}, "1002: 1 in incarnation 2",
		},
		{
			"a crash once it is open", []string{"process-crash"},
			[]engine.Pick{strikes("process-crash/node-1/agent", 1)}, "1003: 1 in incarnation 2",
		},
		{
			"a crash before the list", []string{"api-loss-request", "process-crash"},
			[]engine.Pick{strikes("api-loss-request/node-1/agent", 0), strikes("process-crash/node-1/agent", 1)}, "1003: 1 in incarnation 2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p cluster.Profile
			for _, k := range tt.kinds {
				p.Faults = append(p.Faults, cluster.Fault{Kind: k, Span: engine.Dist{Min: time.Second}})
			}
			l := newLab(t, cluster.Config{Profile: p}, tt.picks...)
			l.create("a", "")
			l.agent(func(ctx context.Context, env *cluster.Env) {
				var list corev1.ConfigMapList
				l.must(env.Cache.List(ctx, &list))
				l.say("%d in incarnation %d", len(list.Items), env.Incarnation)
				_ = env.Clock.Sleep(ctx, time.Hour)
			})
			l.run(time.Minute, tt.want)
		})
	}
}

// TestFaultsOfWhatAClientSendsAgain strikes the second attempt of a create.
func TestFaultsOfWhatAClientSendsAgain(t *testing.T) {
	l := newLab(t, cluster.Config{Profile: cluster.Profile{Faults: []cluster.Fault{{Kind: "api-error-429"}, {Kind: "process-crash"}}}},
		strikes("api-error-429/node-1/agent", 0), strikes("process-crash/node-1/agent", 2))
	l.agent(func(ctx context.Context, env *cluster.Env) {
		l.say("%s in incarnation %d", result(env.Kube.Create(ctx, object("a", ""))), env.Incarnation)
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.at(1500*time.Millisecond, func() { l.say("stored: %v", l.exists("a")) })
	l.run(time.Minute, "1500: stored: false", "2004: ok in incarnation 2")
}
