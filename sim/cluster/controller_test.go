package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

// TestController is the contract of kube.Controller, sentence by sentence.
func TestController(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name   string
		spec   func(l *lab, env *cluster.Env) kube.Controller
		script func(l *lab)
		run    time.Duration
		want   []string
	}{
		{
			name: "start requests come after the watches have listed",
			spec: func(l *lab, _ *cluster.Env) kube.Controller {
				return kube.Controller{
					Watches: []kube.Watch{configMaps},
					Start:   []reconcile.Request{request("start")},
				}
			},
			script: func(l *lab) { l.create("a", "") },
			// What came with the first list has low priority.
			want: []string{"2: start", "2: a"},
		},
		{
			name: "errors are retried with the declared back-off",
			spec: func(l *lab, _ *cluster.Env) kube.Controller {
				return kube.Controller{
					Start:   []reconcile.Request{request("x")},
					Backoff: kube.Backoff{Base: 5 * time.Second, Max: 60 * time.Second},
					Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
						l.say("x")
						return reconcile.Result{}, boom
					}),
				}
			},
			run:  200 * time.Second,
			want: []string{"0: x", "5000: x", "15000: x", "35000: x", "75000: x", "135000: x", "195000: x"},
		},
		{
			name: "the default back-off begins with 5 ms",
			spec: func(l *lab, _ *cluster.Env) kube.Controller {
				return kube.Controller{
					Start: []reconcile.Request{request("x")},
					Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
						l.say("x")
						return reconcile.Result{}, boom
					}),
				}
			},
			run:  100 * time.Millisecond,
			want: []string{"0: x", "5: x", "15: x", "35: x", "75: x"},
		},
		{
			name: "a terminal error is not retried",
			spec: func(l *lab, _ *cluster.Env) kube.Controller {
				return kube.Controller{
					Start: []reconcile.Request{request("x")},
					Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
						l.say("x")
						return reconcile.Result{}, reconcile.TerminalError(boom)
					}),
				}
			},
			want: []string{"0: x"},
		},
		{
			name: "RequeueAfter is honoured, and an event does not wait for it",
			spec: func(l *lab, _ *cluster.Env) kube.Controller {
				return kube.Controller{
					Watches: []kube.Watch{configMaps},
					Start:   []reconcile.Request{request("a")},
					Reconciler: reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
						l.say("%s", req.Name)
						return reconcile.Result{RequeueAfter: 20 * time.Second}, nil
					}),
				}
			},
			script: func(l *lab) { l.at(30*time.Second, func() { l.create("a", "") }) },
			want:   []string{"2: a", "20002: a", "30001: a", "50001: a"},
		},
		{
			name: "one request is never worked on twice at once, others are",
			spec: func(l *lab, env *cluster.Env) kube.Controller {
				return kube.Controller{
					Workers: 2, Watches: []kube.Watch{configMaps},
					Reconciler: reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
						l.say("%s begins", req.Name)
						_ = env.Clock.Sleep(ctx, 10*time.Second)
						l.say("%s ends", req.Name)
						return reconcile.Result{}, nil
					}),
				}
			},
			script: func(l *lab) {
				l.create("a", "1")
				l.at(time.Second, func() { l.set("a", "2") })
				l.at(2*time.Second, func() { l.set("a", "3"); l.create("b", "") })
			},
			run: 25 * time.Second,
			want: []string{
				"2: a begins", "2001: b begins", "10002: a ends", "10002: a begins",
				"12001: b ends", "20002: a ends",
			},
		},
		{
			name: "requests may be mapped from other objects, with the help of the API",
			spec: func(l *lab, env *cluster.Env) kube.Controller {
				w := configMaps
				w.Requests = func(ctx context.Context, obj client.Object) []reconcile.Request {
					var o corev1.ConfigMap
					l.must(env.Kube.Get(ctx, client.ObjectKeyFromObject(obj), &o))
					return []reconcile.Request{request(o.Data["v"])}
				}
				return kube.Controller{Watches: []kube.Watch{w}}
			},
			script: func(l *lab) {
				l.create("a", "owner-1")
				l.at(time.Second, func() { l.set("a", "owner-2") })
			},
			// An update maps the old and the new object; both reads are live.
			want: []string{"4: owner-1", "1003: owner-2", "1005: owner-2"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, cluster.Config{})
			l.agent(func(ctx context.Context, env *cluster.Env) {
				c := tt.spec(l, env)
				c.Name = "test"
				if c.Reconciler == nil {
					c.Reconciler = reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
						l.say("%s", req.Name)
						return reconcile.Result{}, nil
					})
				}
				l.must(env.Run(ctx, c))
			})
			if tt.script != nil {
				tt.script(l)
			}
			if tt.run == 0 {
				tt.run = time.Minute
			}
			l.run(tt.run, tt.want...)
		})
	}
}

func TestControllerFindsItsLogger(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.agent(func(ctx context.Context, env *cluster.Env) {
		_ = env.Run(ctx, kube.Controller{
			Name: "test", Start: []reconcile.Request{request("x")},
			Reconciler: reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				l.say("has a logger: %v", log.FromContext(ctx).Enabled())
				return reconcile.Result{}, nil
			}),
		})
	})
	l.run(time.Second, "0: has a logger: true")
}

func TestControllerWithoutReconciler(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.agent(func(ctx context.Context, env *cluster.Env) {
		l.say("%v", env.Run(ctx, kube.Controller{Name: "empty"}))
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.run(time.Second, "0: controller empty: no reconciler")
}
