package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

const (
	createURL = `Post "https://10.96.0.1:443/api/v1/namespaces/default/configmaps"`
	getURL    = `Get "https://10.96.0.1:443/api/v1/namespaces/default/configmaps/a"`
	reset     = ": read tcp 10.96.0.1:443: read: connection reset by peer"
)

// TestCreateUnderFaults is one create of one process, and what the process and
// the store make of it.
func TestCreateUnderFaults(t *testing.T) {
	only := func(kinds ...string) cluster.Config {
		var p cluster.Profile
		for _, k := range kinds {
			p.Faults = append(p.Faults, cluster.Fault{Kind: k, Span: engine.Dist{Min: time.Second}})
		}
		return cluster.Config{Profile: p}
	}
	tests := []struct {
		name  string
		cfg   cluster.Config
		picks []engine.Pick
		want  []string
	}{
		{
			name: "a millisecond there, a millisecond back",
			want: []string{"2: ok", "2: stored: true"},
		},
		{
			name:  "the request is lost: the connection breaks, nothing is stored",
			cfg:   only("api-loss-request"),
			picks: []engine.Pick{strikes("api-loss-request/node-1/agent", 0)},
			want:  []string{"1: " + createURL + reset, "1: stored: false"},
		},
		{
			name:  "the answer is lost: the connection breaks, but it is stored",
			cfg:   only("api-loss-response"),
			picks: []engine.Pick{strikes("api-loss-response/node-1/agent", 0)},
			want:  []string{"2: " + createURL + reset, "2: stored: true"},
		},
		{
			name: "the answer is lost and the connection goes silent: the client waits for its time-out",
			cfg:  only("api-loss-response"),
			picks: []engine.Pick{
				strikes("api-loss-response/node-1/agent", 0), pick("span/api-loss-response/node-1/agent", 0, 1),
			},
			want: []string{"45001: " + createURL + ": http2: client connection lost", "45001: stored: true"},
		},
		{
			name:  "a request overtaken by others",
			cfg:   only("api-latency"),
			picks: []engine.Pick{strikes("api-latency/node-1/agent", 0)},
			want:  []string{"1002: ok", "1002: stored: true"},
		},
		{
			name:  "429 is repeated by the client",
			cfg:   only("api-error-429"),
			picks: []engine.Pick{strikes("api-error-429/node-1/agent", 0), strikes("api-error-429/node-1/agent", 1)},
			want:  []string{"2006: ok", "2006: stored: true"},
		},
		{
			name: "429 is seen by a caller whose client does not repeat",
			cfg: cluster.Config{
				Client:  cluster.ClientConfig{Retries: -1},
				Profile: only("api-error-429").Profile,
			},
			picks: []engine.Pick{strikes("api-error-429/node-1/agent", 0)},
			want: []string{
				"2: the server has received too many requests and has asked us to try again later",
				"2: stored: false",
			},
		},
		{
			name:  "500 without effect",
			cfg:   only("api-error-500"),
			picks: []engine.Pick{strikes("api-error-500/node-1/agent", 0)},
			want:  []string{"2: etcdserver: request timed out", "2: stored: false"},
		},
		{
			name:  "500 although it was carried out",
			cfg:   only("api-error-500"),
			picks: []engine.Pick{strikes("api-error-500/node-1/agent", 0), pick("span/api-error-500/node-1/agent", 0, 1)},
			want:  []string{"2: etcdserver: request timed out", "2: stored: true"},
		},
		{
			name:  "504",
			cfg:   only("api-error-timeout"),
			picks: []engine.Pick{strikes("api-error-timeout/node-1/agent", 0)},
			want:  []string{"2: Timeout: request did not complete within the allotted timeout", "2: stored: false"},
		},
		{
			name:  "a crash before the request: the next incarnation does it",
			cfg:   only("process-crash"),
			picks: []engine.Pick{strikes("process-crash/node-1/agent", 0)},
			want:  []string{"1002: ok", "1002: stored: true"},
		},
		{
			name:  "a crash after the request: the next incarnation finds it done",
			cfg:   only("process-crash"),
			picks: []engine.Pick{strikes("process-crash/node-1/agent", 1)},
			want:  []string{`1003: configmaps "a" already exists`, "1003: stored: true"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.cfg, tt.picks...)
			l.agent(func(ctx context.Context, env *cluster.Env) {
				err := env.Kube.Create(ctx, object("a", ""))
				l.say("%s", result(err))
				l.say("stored: %v", l.exists("a"))
				_ = env.Clock.Sleep(ctx, time.Hour)
			})
			l.run(time.Minute, tt.want...)
		})
	}
}

func TestReadsAreRepeatedWhenTheConnectionBreaks(t *testing.T) {
	l := newLab(t, cluster.Config{
		Profile: cluster.Profile{Faults: []cluster.Fault{{Kind: "api-loss-response"}}},
	}, strikes("api-loss-response/node-1/agent", 0))
	l.create("a", "")
	l.agent(func(ctx context.Context, env *cluster.Env) {
		l.say("%s", result(env.Kube.Get(ctx, keyOf("a"), &corev1.ConfigMap{})))
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.run(time.Minute, "1004: ok")
}

func TestDeadlineOfTheCaller(t *testing.T) {
	l := newLab(t, cluster.Config{
		Profile: cluster.Profile{Faults: []cluster.Fault{{Kind: "api-latency", Span: engine.Dist{Min: 10 * time.Second}}}},
	}, strikes("api-latency/node-1/agent", 0))
	l.agent(func(ctx context.Context, env *cluster.Env) {
		short, cancel := env.Clock.WithTimeout(ctx, time.Second)
		defer cancel()
		o := object("a", "sent")
		l.say("%s", result(env.Kube.Create(short, o)))
		o.Data["v"] = "changed after it was sent"
		_ = env.Clock.Sleep(ctx, 20*time.Second)
		l.say("stored later: %s", l.get("a").Data["v"])
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.run(time.Minute,
		"1000: "+createURL+": context deadline exceeded",
		"21000: stored later: sent",
	)
}

func TestRequestsOfACrashedProcessLand(t *testing.T) {
	l := newLab(t, cluster.Config{
		Profile: cluster.Profile{Faults: []cluster.Fault{{Kind: "api-latency", Span: engine.Dist{Min: 10 * time.Second}}}},
	}, strikes("api-latency/node-1/agent", 0))
	p := l.agent(func(ctx context.Context, env *cluster.Env) {
		if env.Incarnation == 1 {
			_ = env.Kube.Create(ctx, object("a", ""))
			l.say("the first incarnation goes on")
		}
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.at(time.Second, func() { p.Crash() })
	l.at(9*time.Second, func() { l.say("stored: %v", l.exists("a")) })
	l.at(11*time.Second, func() { l.say("stored: %v", l.exists("a")) })
	l.run(time.Minute, "9000: stored: false", "11000: stored: true")
}

func TestPartition(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.create("a", "")
	l.agent(func(ctx context.Context, env *cluster.Env) {
		for range 3 {
			err := env.Kube.Create(ctx, object("a", ""))
			l.say("%s", result(err))
			_ = env.Clock.Sleep(ctx, time.Minute)
		}
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	n := l.c.Node("node-1")
	l.at(time.Second, func() {
		heal := l.c.Isolate(n, true, true)
		l.at(time.Minute+30*time.Second, heal)
	})
	l.run(5*time.Minute,
		`2: configmaps "a" already exists`,
		"105002: "+createURL+": http2: client connection lost",
		`165004: configmaps "a" already exists`,
	)
}

func TestAPIServerRestart(t *testing.T) {
	l := newLab(t, cluster.Config{Client: cluster.ClientConfig{Retries: -1}})
	l.create("a", "")
	l.agent(func(ctx context.Context, env *cluster.Env) {
		for {
			l.say("%s", result(env.Kube.Get(ctx, keyOf("a"), &corev1.ConfigMap{})))
			_ = env.Clock.Sleep(ctx, time.Second)
		}
	})
	l.at(1003500*time.Microsecond, func() { l.c.Instances()[0].Restart(1500 * time.Millisecond) })
	l.run(4*time.Second,
		"2: ok",
		"1004: "+getURL+": EOF",
		"2005: "+getURL+": dial tcp 10.96.0.1:443: connect: connection refused",
		"3007: ok",
	)
}
