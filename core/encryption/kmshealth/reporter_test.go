package kmshealth_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/kmshealth"
	"github.com/seedbed-sim/seedbed/core/encryption/nodestate"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// onNode runs body in a process of a cluster.
func onNode(t *testing.T, body func(ctx context.Context, env *cluster.Env)) {
	t.Helper()
	c := cluster.New(cluster.Config{
		Nodes:  1,
		Engine: engine.Config{Source: engine.NewSeed(1), Horizon: time.Hour, Idle: engine.IdleAllowed},
	})
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "reporter", Main: func(ctx context.Context, env *cluster.Env) {
		body(ctx, env)
		ended = true
		_ = env.Clock.Sleep(ctx, 2*time.Hour) // a process that ends is started again
	}})
	if res := c.Run(); res.Err != nil {
		t.Error(res.Err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("the body did not run to its end")
	}
}

// api is an API server that knows EncryptionNodeStates.
func api(t *testing.T) client.Client {
	t.Helper()
	server := apiserver.New(apiserver.Options{})
	scheme := runtime.NewScheme()
	if err := errors.Join(server.LoadCRDs(os.DirFS("../v1alpha1"), "crds"), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return apiclient.New(server, scheme)
}

// TestReport: what each plugin says, the newest first, beside what the node's agent
// reports.
func TestReport(t *testing.T) {
	live := api(t)
	onNode(t, func(ctx context.Context, env *cluster.Env) {
		plugin := func(b kms.Behaviour) *kms.Plugin {
			p := kms.NewPlugin(kms.NewVault("v7"), env.Clock)
			p.Behave(b)
			return p
		}
		plugins := []kmshealth.Plugin{
			{KeyID: 2, Service: plugin(kms.Behaviour{})},
			{KeyID: 10, Service: plugin(kms.Behaviour{Healthz: "sealed"})},
			{KeyID: 3, Service: plugin(kms.Behaviour{Down: map[kms.Call]error{kms.Status: errors.New("connection refused")}})},
			{KeyID: 4, Service: plugin(kms.Behaviour{Latency: time.Minute})},
			{KeyID: 5, Service: plugin(kms.Behaviour{StatusKeyID: func(string) string { return "" }})},
			{KeyID: 6, Service: plugin(kms.Behaviour{Healthz: strings.Repeat("x", 5000)})},
		}
		agent := map[string]any{"runningRevision": int64(7)}
		if err := nodestate.Apply(ctx, live, "node-1", "agent", agent); err != nil {
			t.Error(err)
		}
		r := kmshealth.New(kmshealth.Config{
			Live: live, Clock: env.Clock, Entropy: env.Entropy, Node: "node-1", Log: env.Log,
			Plugins: func(context.Context) ([]kmshealth.Plugin, error) { return plugins, nil },
		})
		begun := env.Clock.Now()
		if err := r.Report(ctx); err != nil {
			t.Error(err)
		}
		if took := env.Clock.Since(begun); took > 6*time.Second {
			t.Errorf("it took %s: plugins are not asked at once", took)
		}
		got := &v1alpha1.EncryptionNodeState{}
		if err := live.Get(ctx, client.ObjectKey{Name: "node-1"}, got); err != nil {
			t.Error(err)
		}
		want := []v1alpha1.PluginHealth{
			{KeyID: "10", Status: v1alpha1.PluginUnhealthy, Message: "sealed"},
			{KeyID: "6", Status: v1alpha1.PluginUnhealthy, Message: strings.Repeat("x", 4096)},
			{KeyID: "5", Status: v1alpha1.PluginError, Message: "it gives its key no id that API servers take"},
			{KeyID: "4", Status: v1alpha1.PluginError, Message: got.Status.Plugins[3].Message}, // the deadline
			{KeyID: "3", Status: v1alpha1.PluginError, Message: "connection refused"},
			{KeyID: "2", Status: v1alpha1.PluginHealthy, KEKID: "v7"},
		}
		if d := cmp.Diff(want, got.Status.Plugins, cmp.Transformer("at", func(metav1.Time) string { return "" })); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if got.Status.RunningRevision != 7 {
			t.Error("what the agent reports is gone")
		}

		plugins = plugins[:1] // the others are gone, and so are their reports
		if err := r.Report(ctx); err != nil {
			t.Error(err)
		}
		if err := live.Get(ctx, client.ObjectKey{Name: "node-1"}, got); err != nil || len(got.Status.Plugins) != 1 {
			t.Errorf("%d plugins are reported, error %v", len(got.Status.Plugins), err)
		}
	})
}

// counted counts what is written into statuses.
type counted struct {
	client.Client
	writes int
}

func (c *counted) Status() client.SubResourceWriter {
	c.writes++
	return c.Client.Status()
}

// TestTheLastPluginGoes, and its report with it, be there another that reports of the
// node or not. Nothing more is written until there is a plugin again, but by a reporter
// that has just started.
func TestTheLastPluginGoes(t *testing.T) {
	for _, agent := range []map[string]any{nil, {"runningRevision": int64(7)}} {
		live := &counted{Client: api(t)}
		onNode(t, func(ctx context.Context, env *cluster.Env) {
			if agent != nil {
				if err := nodestate.Apply(ctx, live, "node-1", "agent", agent); err != nil {
					t.Error(err)
				}
			}
			p := kms.NewPlugin(kms.NewVault("v1"), env.Clock)
			plugins := []kmshealth.Plugin{{KeyID: 1, Service: p}}
			cfg := kmshealth.Config{
				Live: live, Clock: env.Clock, Entropy: env.Entropy, Node: "node-1", Log: env.Log,
				Plugins: func(context.Context) ([]kmshealth.Plugin, error) { return plugins, nil },
			}
			r, got := kmshealth.New(cfg), &v1alpha1.EncryptionNodeState{}
			for round, want := range []int{1, 0, 0, 1, 0, 0} {
				before := live.writes
				plugins = []kmshealth.Plugin{{KeyID: 1, Service: p}}[:want]
				if err := r.Report(ctx); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if err := live.Get(ctx, client.ObjectKey{Name: "node-1"}, got); err != nil || len(got.Status.Plugins) != want {
					t.Errorf("round %d: %d plugins are reported, error %v", round, len(got.Status.Plugins), err)
				}
				raw := &unstructured.Unstructured{}
				raw.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EncryptionNodeState"))
				if err := live.Get(ctx, client.ObjectKey{Name: "node-1"}, raw); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if _, there, _ := unstructured.NestedFieldNoCopy(raw.Object, "status", "plugins"); there != (want > 0) {
					t.Errorf("round %d: there is a list of %d plugins: %t", round, want, there)
				}
				if round%3 == 2 && live.writes != before {
					t.Errorf("round %d: that there is none is reported again", round)
				}
			}
			for start := range 2 {
				if err := kmshealth.New(cfg).Report(ctx); err != nil {
					t.Errorf("start %d: %v", start, err)
				}
			}
		})
	}
}

// TestAllTheTime: every half minute, and somewhat more.
func TestAllTheTime(t *testing.T) {
	live := api(t)
	onNode(t, func(ctx context.Context, env *cluster.Env) {
		vault := kms.NewVault("v1")
		p := kms.NewPlugin(vault, env.Clock)
		r := kmshealth.New(kmshealth.Config{
			Live: live, Clock: env.Clock, Entropy: env.Entropy, Node: "node-1", Log: env.Log,
			Plugins: func(context.Context) ([]kmshealth.Plugin, error) {
				return []kmshealth.Plugin{{KeyID: 1, Service: p}}, nil
			},
		})
		running, cancel := env.Clock.WithCancel(ctx)
		group := env.Clock.NewGroup(running)
		group.Go("reporter", r.Run)
		_ = env.Clock.Sleep(ctx, 10*time.Minute)
		if n := p.Calls(kms.Status); n < 18 || n > 20 {
			t.Errorf("asked %d times in ten minutes", n)
		}
		cancel()
		group.Wait()
	})
}

// TestReports has one of each node, and of no other.
func TestReports(t *testing.T) {
	live := api(t)
	for _, node := range []string{"c", "a", "gone"} {
		if err := nodestate.Apply(t.Context(), live, node, "agent", map[string]any{"runningRevision": int64(1)}); err != nil {
			t.Fatal(err)
		}
	}
	r := &nodestate.Reports{Live: live, Nodes: func(context.Context) ([]string, error) { return []string{"c", "b", "a"}, nil }}
	reports, err := r.NodeReports(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range reports {
		got += reports[i].Name + " " + string('0'+rune(reports[i].Status.RunningRevision)) + ", "
	}
	if got != "a 1, b 0, c 1, " {
		t.Error(got)
	}
}
