package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// watcher is an agent whose controller says what its cache holds each time that
// an object of the watch changes.
func (l *lab) watcher(w kube.Watch) *cluster.Process {
	return l.agent(func(ctx context.Context, env *cluster.Env) {
		see := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var o corev1.ConfigMap
			if err := env.Cache.Get(ctx, req.NamespacedName, &o); err != nil {
				l.say("%s: gone", req.Name)
			} else {
				l.say("%s: %s", req.Name, o.Data["v"])
			}
			return reconcile.Result{}, nil
		}
		_ = env.Run(ctx, kube.Controller{Name: "see", Reconciler: reconcile.Func(see), Watches: []kube.Watch{w}})
	})
}

var configMaps = kube.Watch{Object: &corev1.ConfigMap{}, Namespace: "default"}

func profile(kinds ...string) cluster.Profile {
	var p cluster.Profile
	for _, k := range kinds {
		p.Faults = append(p.Faults, cluster.Fault{Kind: k, Span: engine.Dist{Min: 10 * time.Second}})
	}
	return p
}

func TestInformerFollows(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.create("a", "1")
	l.watcher(configMaps)
	l.at(time.Second, func() { l.set("a", "2"); l.create("b", "1") })
	l.at(2*time.Second, func() { l.delete("a") })
	l.run(time.Minute, "2: a: 1", "1001: a: 2", "1001: b: 1", "2001: a: gone")
}

func TestInformerOfOneName(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.watcher(kube.Watch{Object: &corev1.ConfigMap{}, Namespace: "default", Name: "a"})
	l.at(time.Second, func() { l.create("b", "1"); l.create("a", "1") })
	l.run(time.Minute, "1001: a: 1")
}

func TestInformerByField(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.agent(func(ctx context.Context, env *cluster.Env) {
		see := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			var pods corev1.PodList
			if err := env.Cache.List(ctx, &pods); err != nil {
				return reconcile.Result{}, err
			}
			l.say("%s: %d in the cache", req.Name, len(pods.Items))
			return reconcile.Result{}, nil
		}
		watch := kube.Watch{Object: &corev1.Pod{}, Fields: fields.OneTermEqualSelector("spec.nodeName", "node-1")}
		_ = env.Run(ctx, kube.Controller{Name: "see", Reconciler: reconcile.Func(see), Watches: []kube.Watch{watch}})
	})
	pod := func(name, node string) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		p.Spec = corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}}
		l.must(l.c.Admin().Create(context.Background(), p))
	}
	l.at(time.Second, func() { pod("here", "node-1"); pod("there", "node-2"); pod("nowhere", "") })
	l.at(2*time.Second, func() {
		l.must(l.c.Admin().SubResource("binding").Create(context.Background(),
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nowhere"}},
			&corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}))
	})
	l.run(time.Minute, "1001: here: 1 in the cache", "2001: nowhere: 2 in the cache")
}

func TestInformerWithSelector(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.watcher(kube.Watch{
		Object: &corev1.ConfigMap{}, Namespace: "default",
		Selector: labels.SelectorFromSet(labels.Set{"v": "in"}),
	})
	l.create("a", "in")
	l.create("b", "out")
	l.at(time.Second, func() {
		o := l.get("a")
		o.Labels["v"] = "out"
		l.must(l.c.Admin().Update(context.Background(), o))
	})
	l.run(time.Minute, "2: a: in", "1001: a: gone")
}

// TestWatchFaults says what a controller sees when its watch is in trouble: the
// last state always, what lay between perhaps not.
func TestWatchFaults(t *testing.T) {
	tests := []struct {
		name  string
		cfg   cluster.Config
		picks []engine.Pick
		extra func(l *lab)
		want  []string
	}{
		{
			name:  "a broken watch goes on where it was",
			cfg:   cluster.Config{Profile: profile("watch-disconnect")},
			picks: []engine.Pick{strikes("watch-disconnect/node-1/agent", 2)},
			// The event of 1000 is not sent; the client learns at 1001 that the
			// connection is gone and asks again from the last revision it saw.
			want: []string{"2: a: 1", "1003: a: 2", "2001: a: 3", "2001: b: 1", "3001: b: gone"},
		},
		{
			name:  "a lagging watch delivers late and in order",
			cfg:   cluster.Config{Profile: profile("watch-lag")},
			picks: []engine.Pick{strikes("watch-lag/node-1/agent", 2)},
			want:  []string{"2: a: 1", "11000: a: 2", "11000: a: 3", "11000: b: 1", "11000: b: gone"},
		},
		{
			name: "a frozen watch cache shows nothing until it is live again",
			cfg:  cluster.Config{},
			extra: func(l *lab) {
				i := l.c.Instances()[0]
				l.at(500*time.Millisecond, func() { i.Server().Freeze() })
				l.at(2500*time.Millisecond, func() { i.Server().Live() })
			},
			want: []string{"2: a: 1", "2501: a: 2", "2501: a: 3", "2501: b: 1", "3001: b: gone"},
		},
		{
			name: "after a restart of the API server the watch is too old: the cache is read anew",
			cfg:  cluster.Config{},
			extra: func(l *lab) {
				l.at(500*time.Millisecond, func() { l.c.Instances()[0].Restart(3 * time.Second) })
			},
			// b came and went unseen. The client backs off by 0.8, 1.6 and 3.2 s while
			// the connection is refused, and by 6.4 s on 410.
			want: []string{"2: a: 1", "12508: a: 3"},
		},
		{
			name: "a forgotten history does not disturb an open watch",
			cfg:  cluster.Config{},
			extra: func(l *lab) {
				l.at(500*time.Millisecond, l.c.Store().ForgetHistory)
			},
			want: []string{"2: a: 1", "1001: a: 2", "2001: a: 3", "2001: b: 1", "3001: b: gone"},
		},
		{
			name: "a partition stops events until it heals",
			cfg:  cluster.Config{},
			extra: func(l *lab) {
				l.at(500*time.Millisecond, func() {
					l.at(9500*time.Millisecond, l.c.Isolate(l.c.Node("node-1"), false, true))
				})
			},
			want: []string{"2: a: 1", "10001: a: 2", "10001: a: 3", "10001: b: 1", "10001: b: gone"},
		},
		{
			name: "a long partition breaks the watch; the next one begins with the whole state",
			cfg:  cluster.Config{},
			extra: func(l *lab) {
				l.at(500*time.Millisecond, func() {
					l.at(99500*time.Millisecond, l.c.Isolate(l.c.Node("node-1"), true, true))
				})
			},
			want: []string{"2: a: 1", "136303: a: 3"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.cfg, tt.picks...)
			l.create("a", "1")
			l.watcher(configMaps)
			l.at(1*time.Second, func() { l.set("a", "2") })
			l.at(2*time.Second, func() { l.set("a", "3"); l.create("b", "1") })
			l.at(3*time.Second, func() { l.delete("b") })
			if tt.extra != nil {
				tt.extra(l)
			}
			l.run(3*time.Minute, tt.want...)
		})
	}
}

func TestInformerNoticesDeletionsThatItMissed(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.create("a", "1")
	l.create("b", "1")
	l.watcher(configMaps)
	l.at(time.Second, func() { l.c.Instances()[0].Stop() })
	l.at(2*time.Second, func() { l.delete("a") })
	l.at(3*time.Second, func() { l.c.Instances()[0].Start() })
	// b is reconciled once more because the new list holds it again, as with
	// client-go.
	l.run(time.Minute, "2: a: 1", "2: b: 1", "6607: a: gone", "6607: b: 1")
}

func TestPausedProcessSeesEventsLater(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.create("a", "1")
	p := l.watcher(configMaps)
	l.at(500*time.Millisecond, func() { p.Pause(2 * time.Second) })
	l.at(1*time.Second, func() { l.set("a", "2") })
	l.at(2*time.Second, func() { l.set("a", "3") })
	l.at(3*time.Second, func() { l.set("a", "4") })
	l.run(time.Minute, "2: a: 1", "2500: a: 3", "3001: a: 4")
}

func TestCachedReadsAreStale(t *testing.T) {
	l := newLab(t, cluster.Config{Profile: profile("watch-lag")}, strikes("watch-lag/node-1/agent", 2))
	l.create("a", "1")
	l.agent(func(ctx context.Context, env *cluster.Env) {
		read := func(how string, r kube.Reader) *corev1.ConfigMap {
			var o corev1.ConfigMap
			if err := r.Get(ctx, keyOf("a"), &o); err != nil {
				l.say("%s: %v", how, err)
			} else {
				l.say("%s: %s", how, o.Data["v"])
			}
			return &o
		}
		o := read("cache", env.Cache) // starts the informer and waits for it
		o.Data["v"] = "2"
		l.must(env.Client.Update(ctx, o))
		read("cache", env.Client)
		read("live", env.Kube)
		_ = env.Clock.Sleep(ctx, 20*time.Second)
		read("cache", env.Client)
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.run(time.Minute, "2: cache: 1", "4: cache: 1", "6: live: 2", "20006: cache: 2")
}

func TestCacheList(t *testing.T) {
	l := newLab(t, cluster.Config{})
	for i, ns := range []string{"default", "kube-system", "default"} {
		o := object(fmt.Sprintf("o%d", i), fmt.Sprint(i%2))
		o.Namespace = ns
		l.must(l.c.Admin().Create(context.Background(), o))
	}
	l.agent(func(ctx context.Context, env *cluster.Env) {
		list := func(opts ...client.ListOption) {
			var found corev1.ConfigMapList
			err := env.Cache.List(ctx, &found, opts...)
			var names []string
			for _, o := range found.Items {
				names = append(names, o.Namespace+"/"+o.Name)
			}
			l.say("%s %s", strings.Join(names, " "), result(err))
		}
		list()
		list(client.InNamespace("default"))
		list(client.MatchingLabels{"v": "1"})
		list(client.MatchingFields{"metadata.name": "o2"})
		list(client.Limit(1))
		list(client.MatchingFields{"spec.x": "y"})
		list(client.Continue("token"))
		u := &unstructured.UnstructuredList{}
		u.SetAPIVersion("v1")
		u.SetKind("ConfigMapList")
		l.must(env.Cache.List(ctx, u, client.InNamespace("kube-system")))
		l.say("unstructured: %v", u.Items[0].Object["data"])
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.run(time.Minute,
		"2: default/o0 default/o2 kube-system/o1 ok",
		"2: default/o0 default/o2 ok",
		"2: kube-system/o1 ok",
		"2: default/o2 ok",
		"2: default/o0 ok",
		`2:  cache has no index for field selector "spec.x=y"`,
		"2:  continue list option is not supported by the cache",
		"4: unstructured: map[v:1]",
	)
}

// TestNamedWatchPassesRBAC is the rule that resourceNames allow a list or a watch
// only with a field selector for that name.
func TestNamedWatchPassesRBAC(t *testing.T) {
	l := newLab(t, cluster.Config{API: apiserver.Options{RBAC: true}})
	l.create("a", "1")
	admin, ctx := l.c.Admin(), context.Background()
	l.must(admin.Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "read-a"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"a"}, Verbs: []string{"list", "watch"}}},
	}))
	l.must(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "read-a"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read-a"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "agent"}},
	}))
	for _, name := range []string{"a", ""} {
		l.c.Node("node-1").Process(cluster.ProcessSpec{
			Name: "agent" + name, User: &apiserver.User{Name: "agent"},
			Main: func(ctx context.Context, env *cluster.Env) {
				_ = env.Run(ctx, kube.Controller{
					Name:    "see",
					Watches: []kube.Watch{{Object: &corev1.ConfigMap{}, Namespace: "default", Name: name}},
					Reconciler: reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
						l.say("%s sees %s", env.Process, req.Name)
						return reconcile.Result{}, nil
					}),
				})
			},
		})
	}
	l.run(time.Minute, "2: node-1/agenta sees a")
}
