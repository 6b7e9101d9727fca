package home_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/fakes/files"
	"github.com/seedbed-sim/seedbed/fakes/grantpod"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

const (
	namespace = "tenant"
	podName   = "grant-0"
	grantsDir = "/var/lib/fiberd/grants"
	grantName = grantsDir + "/grant.jwt"
	tokenFile = "/var/run/secrets/token"
	bearer    = "the-pods-bound-token"
	issuerURL = "https://controller.example.com"
	lease     = 10 * time.Minute
)

// lab is a home and everything around it, in virtual time.
type lab struct {
	*testing.T
	ctx    context.Context
	clock  clock.Clock
	node   *cluster.Node
	kube   *grantpod.Kube
	files  *files.Files
	issuer *issuer.Issuer
	uid    string
	cfg    home.Config
	log    []string
	began  time.Duration
}

// inPod runs body as the process of a grant Pod, in a cluster of its own.
func inPod(t *testing.T, body func(l *lab)) {
	t.Helper()
	c := cluster.New(cluster.Config{Nodes: 1, Engine: engine.Config{
		Source: engine.NewSeed(1), Horizon: time.Hour, Idle: engine.IdleAllowed,
	}})
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "fiberd", Main: func(ctx context.Context, env *cluster.Env) {
		if !ended {
			body(newLab(ctx, t, c.Node("node-1"), env))
			ended = true
		}
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

func newLab(ctx context.Context, t *testing.T, node *cluster.Node, env *cluster.Env) *lab {
	l := &lab{T: t, ctx: ctx, clock: env.Clock, node: node, kube: grantpod.New(env.Clock), files: files.New(), began: env.Clock.Monotonic()}
	l.uid = string(l.kube.PutPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName},
		Spec:       corev1.PodSpec{NodeName: "node-1", ServiceAccountName: "fiberd"},
		Status: corev1.PodStatus{
			PodIP: "10.0.0.7", PodIPs: []corev1.PodIP{{IP: "10.0.0.7"}, {IP: "fd00::7"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
		},
	}))
	l.issuer = issuer.New(issuer.Config{URL: issuerURL, Clock: env.Clock, Lease: lease})
	l.issuer.Trust(bearer, issuer.Pod{Name: podName, UID: l.uid})
	l.files.Put(tokenFile, bearer+"\n")
	l.cfg = home.Config{
		Kube: l.kube, PodName: podName, PodNamespace: namespace, PodUID: l.uid,
		GrantsDir: grantsDir, GrantTokenFile: tokenFile, GrantIssuerURL: issuerURL + "/",
		Clock: env.Clock, Files: l.files, Web: l.issuer, Logger: l.logger(),
	}
	return l
}

// logger keeps what is logged.
func (l *lab) logger() logr.Logger {
	return funcr.New(func(prefix, args string) { l.log = append(l.log, prefix+args) }, funcr.Options{Verbosity: 9})
}

// logged is how many lines hold the text.
func (l *lab) logged(text string) int {
	n := 0
	for _, line := range l.log {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// withoutFetch makes grants arrive as files only.
func (l *lab) withoutFetch() { l.cfg.GrantTokenFile, l.cfg.GrantIssuerURL = "", "" }

// newHome makes the home, which must succeed.
func (l *lab) newHome() *home.Home {
	l.Helper()
	h, err := home.New(l.ctx, l.cfg)
	if err != nil {
		l.Fatalf("New: %v", err)
	}
	return h
}

// run runs the home in the background; stop ends it and waits until it has stopped.
func (l *lab) run(h *home.Home) (stop func()) {
	ctx, cancel := l.clock.WithCancel(l.ctx)
	g := l.clock.NewGroup(ctx)
	g.Go("home", h.Run)
	return func() {
		cancel()
		g.Wait()
	}
}

// sleep lets time pass.
func (l *lab) sleep(d time.Duration) {
	if err := l.clock.Sleep(l.ctx, d); err != nil {
		l.Errorf("sleep: %v", err)
	}
}

// later does something once d has passed.
func (l *lab) later(d time.Duration, do func()) {
	l.clock.NewGroup(l.ctx).Go("later", func(ctx context.Context) {
		if l.clock.Sleep(ctx, d) == nil {
			do()
		}
	})
}

// elapsed is the time since the body began.
func (l *lab) elapsed() time.Duration { return l.clock.Monotonic() - l.began }

// stepClock sets the node's wall clock, relative to the true one.
func (l *lab) stepClock(offset time.Duration) { l.node.SetClock(offset, 0) }

// losses notes the losses that the home reports, with the time in whole seconds.
func (l *lab) losses(h *home.Home) *[]string {
	var got []string
	h.OnScopeLost(func(_ context.Context, reason string) {
		got = append(got, fmt.Sprintf("%s %s", l.elapsed().Truncate(time.Second), reason))
	})
	return &got
}

// follow notes the events of a lane, in a task of its own.
func (l *lab) follow(h *home.Home) *[]string {
	l.Helper()
	lane, err := h.Grants(l.ctx)
	if err != nil {
		l.Fatalf("Grants: %v", err)
	}
	var got []string
	l.clock.NewGroup(l.ctx).Go("follow", func(ctx context.Context) {
		for {
			ev, err := lane.Next(ctx)
			if err != nil {
				return
			}
			what := ev.UID
			if ev.Kind == home.GrantAdded {
				what = fmt.Sprint(ev.Token.Len(), " bytes")
				if text := string(ev.Token.Reveal()); len(text) < 20 {
					what = text
				}
			}
			got = append(got, fmt.Sprintf("%s %s %s", l.elapsed().Truncate(time.Second), ev.Kind, what))
		}
	})
	return &got
}

// calls counts the calls of a verb.
func (l *lab) calls(verb grantpod.Verb) int {
	n := 0
	for _, c := range l.kube.Calls() {
		if c.Verb == verb {
			n++
		}
	}
	return n
}

// condition is the readiness condition of the Pod, "" if there is none.
func (l *lab) condition() string {
	for _, c := range l.kube.Pod(namespace, podName).Status.Conditions {
		if c.Type == home.PodConditionZygoteReady {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}
