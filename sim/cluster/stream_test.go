package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// listURL is what clients call to list and watch.
const listURL = `Get "https://10.96.0.1:443/api/v1/namespaces/default/configmaps"`

// TestOpenAWatch opens a watch by hand at second one, from a revision of before
// the first object, and tells what has come of it a second later.
func TestOpenAWatch(t *testing.T) {
	fault := func(kind string) cluster.Config {
		return cluster.Config{Profile: cluster.Profile{Faults: []cluster.Fault{{Kind: kind}}}}
	}
	tests := []struct {
		name    string
		cfg     cluster.Config
		picks   []engine.Pick
		trouble func(l *lab)
		within  time.Duration
		want    []string
	}{
		{
			name: "a millisecond there, one back",
			want: []string{"1002: ok", "2002: ADDED a", "2002: open"},
		},
		{
			name:  "the API server answers with an error",
			cfg:   fault("api-error-500"),
			picks: []engine.Pick{strikes("api-error-500/node-1/agent", 0)},
			want:  []string{"1002: etcdserver: request timed out"},
		},
		{
			name:    "the API server is down",
			trouble: func(l *lab) { l.c.Instances()[0].Stop() },
			want:    []string{"1001: " + listURL + ": dial tcp 10.96.0.1:443: connect: connection refused"},
		},
		{
			name:    "nobody hears the request",
			trouble: func(l *lab) { l.c.Isolate(l.c.Node("node-1"), true, true) },
			want:    []string{"46000: " + listURL + ": dial tcp 10.96.0.1:443: i/o timeout"},
		},
		{
			name: "nobody hears the answer",
			trouble: func(l *lab) {
				l.at(500*time.Microsecond, func() { l.c.Isolate(l.c.Node("node-1"), false, true) })
			},
			want: []string{"46002: " + listURL + ": http2: client connection lost"},
		},
		{
			name:   "the caller does not wait for the answer",
			within: 1500 * time.Microsecond,
			want:   []string{"1001: " + listURL + ": context deadline exceeded"},
		},
		{
			name: "the revision is too old",
			trouble: func(l *lab) {
				l.c.Instances()[0].Stop()
				l.c.Instances()[0].Start()
			},
			want: []string{"1002: ok", "2002: ERROR too old resource version: 1 (5)", "2002: closed"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.cfg, tt.picks...)
			l.create("a", "")
			l.agent(func(ctx context.Context, env *cluster.Env) {
				_ = env.Clock.Sleep(ctx, time.Second)
				short := ctx
				if tt.within > 0 {
					deadline, cancel := env.Clock.WithTimeout(ctx, tt.within)
					defer cancel()
					short = deadline
				}
				w, err := env.Kube.(client.WithWatch).Watch(short, &corev1.ConfigMapList{}, client.InNamespace("default"),
					&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "1"}})
				l.say("%s", result(err))
				_ = env.Clock.Sleep(ctx, time.Second)
				if err == nil {
					l.tell(w)
				}
				_ = env.Clock.Sleep(ctx, time.Hour)
			})
			if tt.trouble != nil {
				l.at(time.Second, func() { tt.trouble(l) })
			}
			l.run(time.Minute, tt.want...)
		})
	}
}

// tell says what has arrived.
func (l *lab) tell(w watch.Interface) {
	for {
		select {
		case ev, open := <-w.ResultChan():
			switch o := ev.Object.(type) {
			case *metav1.Status:
				l.say("%s %s", ev.Type, o.Message)
			case client.Object:
				l.say("%s %s", ev.Type, o.GetName())
			}
			if !open {
				l.say("closed")
				return
			}
		default:
			l.say("open")
			return
		}
	}
}
