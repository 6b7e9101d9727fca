package drive_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/drive"
	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/fakes/files"
	"github.com/seedbed-sim/seedbed/fakes/grantpod"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

const (
	url    = "https://controller.example.com"
	dir    = "/grants"
	state  = "/state"
	bearer = "the-pods-bound-token"
	tokens = "/token"
)

// templates takes a while to build each.
type templates struct {
	clock clock.Clock
	fail  error
	warm  map[string]bool
	built int
}

func (t *templates) Warm(ctx context.Context, g grant.Grant, _ home.DeviceChannel) error {
	if err := t.clock.Sleep(ctx, 3*time.Second); err != nil {
		return err
	}
	if t.fail != nil {
		return t.fail
	}
	t.warm[g.UID] = true
	t.built++
	return nil
}

func (t *templates) Cool(_ context.Context, uid string) { delete(t.warm, uid) }

// agent is a whole agent: its home, its books and the loop between.
type agent struct {
	*testing.T
	ctx       context.Context
	clock     clock.Clock
	kube      *grantpod.Kube
	files     *files.Files
	issuer    *issuer.Issuer
	templates *templates
	home      *home.Home
	books     *drive.Agent
	uid       string
}

// whole runs an agent for body, in virtual time.
func whole(t *testing.T, prepare, body func(a *agent)) {
	t.Helper()
	c := cluster.New(cluster.Config{Nodes: 1, Engine: engine.Config{Source: engine.NewSeed(1), Horizon: 3 * time.Hour, Idle: engine.IdleAllowed}})
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "fiberd", Main: func(ctx context.Context, env *cluster.Env) {
		if !ended {
			a := newAgent(ctx, t, env.Clock)
			if prepare != nil {
				prepare(a)
			}
			a.start()
			body(a)
			ended = true
		}
		_ = env.Clock.Sleep(ctx, 6*time.Hour)
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

func newAgent(ctx context.Context, t *testing.T, clk clock.Clock) *agent {
	a := &agent{
		T: t, ctx: ctx, clock: clk, kube: grantpod.New(clk), files: files.New(),
		issuer:    issuer.New(issuer.Config{URL: url, Clock: clk, Lease: 10 * time.Minute}),
		templates: &templates{clock: clk, warm: map[string]bool{}},
	}
	a.uid = string(a.kube.PutPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "grant-0"}}))
	a.issuer.Trust(bearer, issuer.Pod{Name: "grant-0", UID: a.uid})
	a.files.Put(tokens, bearer)
	return a
}

// start does what an agent does at its start.
func (a *agent) start() {
	a.Helper()
	keys := grant.NewCache(grant.CacheConfig{Issuer: url, Web: a.issuer, Clock: a.clock, MaxStale: 10 * time.Minute})
	h, err := home.New(a.ctx, home.Config{
		Kube: a.kube, PodName: "grant-0", PodNamespace: "tenant", PodUID: a.uid, Cache: keys,
		GrantsDir: dir, GrantTokenFile: tokens, GrantIssuerURL: url, Clock: a.clock, Files: a.files, Web: a.issuer,
	})
	if err != nil {
		a.Fatal(err)
	}
	books, err := drive.NewAgent(a.ctx, drive.AgentConfig{StateDir: state, Files: a.files, Clock: a.clock, Templates: a.templates})
	if err != nil {
		a.Fatal(err)
	}
	a.home, a.books = h, books
	h.OnScopeLost(books.ScopeLost)
	d := &drive.Driver{
		Home: h, Agent: books, Clock: a.clock, Verifier: &grant.Verifier{Issuer: url, Audience: "grant-0", Keys: keys},
	}
	g := a.clock.NewGroup(a.ctx)
	g.Go("home", h.Run)
	g.Go("drive", func(ctx context.Context) {
		if err := d.Run(ctx); err != nil {
			a.Errorf("drive: %v", err)
		}
	})
}

func (a *agent) sleep(d time.Duration) {
	if err := a.clock.Sleep(a.ctx, d); err != nil {
		a.Error(err)
	}
}

// condition is the status of the readiness condition.
func (a *agent) condition() corev1.ConditionStatus {
	for _, c := range a.kube.Pod("tenant", "grant-0").Status.Conditions {
		if c.Type == home.PodConditionZygoteReady {
			return c.Status
		}
	}
	return "absent"
}

func (a *agent) admitted() []string {
	var uids []string
	for _, g := range a.books.Admitted() {
		uids = append(uids, g.UID)
	}
	return uids
}

func TestAGrantBecomesReadiness(t *testing.T) {
	whole(t, nil, func(a *agent) {
		if got := a.books.Ask(a.home.Healthy()); got != drive.AnswerFallback {
			t.Errorf("at first the answer is %s", got)
		}
		a.sleep(10 * time.Second)
		if d := cmp.Diff([]string{a.uid}, a.admitted()); d != "" || a.condition() != corev1.ConditionTrue {
			t.Errorf("condition %s; admitted (-want +got):\n%s", a.condition(), d)
		}
		a.sleep(time.Hour)
		if a.templates.built != 1 || len(a.admitted()) != 1 {
			t.Errorf("after many renewals %d templates were built and %d grants are admitted", a.templates.built, len(a.admitted()))
		}
		n := 0
		for _, c := range a.kube.Calls() {
			if c.Verb == grantpod.PatchPodStatus {
				n++
			}
		}
		if n != 1 || a.books.Epoch() != 1 {
			t.Errorf("%d patches, epoch %d", n, a.books.Epoch())
		}
	})
}

func TestAGrantThatIsTakenAwayIsDenied(t *testing.T) {
	whole(t, nil, func(a *agent) {
		a.issuer.Behave(issuer.Behaviour{Status: 403, Times: issuer.Always})
		a.sleep(10 * time.Second)
		a.files.Delete(dir + "/grant.jwt")
		a.sleep(10 * time.Second)
		if len(a.admitted()) > 0 || !a.books.Denied(a.uid) || a.condition() != corev1.ConditionFalse || a.templates.warm[a.uid] {
			t.Errorf("admitted %v, denied %t, condition %s", a.admitted(), a.books.Denied(a.uid), a.condition())
		}
		a.issuer.BehaveWell()
		a.sleep(6 * time.Minute)
		if len(a.admitted()) != 1 || a.books.Denied(a.uid) || a.condition() != corev1.ConditionTrue {
			t.Errorf("granted again: admitted %v, denied %t, condition %s", a.admitted(), a.books.Denied(a.uid), a.condition())
		}
	})
}

func TestAGrantLapsesWithItsLease(t *testing.T) {
	whole(t, nil, func(a *agent) {
		a.sleep(time.Minute)
		a.issuer.Behave(issuer.Behaviour{Status: 503, Times: issuer.Always})
		a.sleep(10 * time.Minute)
		if len(a.admitted()) > 0 || a.condition() != corev1.ConditionFalse {
			t.Errorf("admitted %v, condition %s", a.admitted(), a.condition())
		}
		if got := a.books.Ask(a.home.Healthy()); got != drive.AnswerFallback {
			t.Errorf("with a healthy control plane the answer is %s", got)
		}
		a.kube.Fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.ErrRefused, Times: grantpod.Always})
		a.sleep(time.Minute)
		if got := a.books.Ask(a.home.Healthy()); got != drive.AnswerShed {
			t.Errorf("without one the answer is %s", got)
		}
		a.kube.Heal()
		a.issuer.BehaveWell()
		a.sleep(time.Minute)
		if got := a.books.Ask(a.home.Healthy()); got != drive.AnswerWorker || a.condition() != corev1.ConditionTrue {
			t.Errorf("renewed, the answer is %s and the condition %s", got, a.condition())
		}
	})
}

func TestAGrantWaitsForKeysToVerifyItWith(t *testing.T) {
	down := func(a *agent) {
		a.issuer.Behave(issuer.Behaviour{Path: "/openid/v1/jwks", Status: 500, Times: issuer.Always})
	}
	whole(t, down, func(a *agent) {
		a.sleep(2 * time.Minute)
		if len(a.admitted()) > 0 || !a.home.Healthy() {
			t.Errorf("admitted %v without keys; healthy: %t", a.admitted(), a.home.Healthy())
		}
		a.issuer.BehaveWell()
		a.sleep(30 * time.Second)
		if len(a.admitted()) != 1 {
			t.Error("the grant was not tried again")
		}
	})
}

func TestWhatIsNoGrantIsNeverPublished(t *testing.T) {
	garbage := func(a *agent) {
		a.templates.fail = errors.New("no such template")
		a.files.Put(dir+"/a.jwt", "garbage")
	}
	whole(t, garbage, func(a *agent) {
		a.sleep(time.Minute)
		if len(a.admitted()) > 0 || a.condition() != "absent" {
			t.Errorf("admitted %v, condition %s", a.admitted(), a.condition())
		}
	})
}

// TestTheEpochNeverRepeats: it grows with every start and with every loss of scope.
func TestTheEpochNeverRepeats(t *testing.T) {
	whole(t, nil, func(a *agent) {
		a.sleep(time.Minute)
		a.kube.DeletePod("tenant", "grant-0")
		a.files.Break("write", state+"/.epoch.tmp", files.ErrIO)
		a.sleep(20 * time.Second)
		if got := a.books.Epoch(); got != 1 {
			t.Errorf("epoch %d though the disk is broken", got)
		}
		a.files.Mend("write", state+"/.epoch.tmp")
		a.sleep(2 * time.Second)
		if got := a.books.Epoch(); got != 2 || len(a.admitted()) != 1 {
			t.Errorf("after a loss the epoch is %d, admitted %v", got, a.admitted())
		}
		again := func() uint64 {
			b, err := drive.NewAgent(a.ctx, drive.AgentConfig{StateDir: state, Files: a.files, Clock: a.clock, Templates: a.templates})
			if err != nil {
				t.Fatal(err)
			}
			return b.Epoch()
		}
		if got := again(); got != 3 {
			t.Errorf("after a start the epoch is %d", got)
		}
		a.files.Put(state+"/epoch", "corrupt")
		if got, now := again(), uint64(a.clock.Now().Unix()); got != now {
			t.Errorf("after a corrupt file the epoch is %d, want the time, %d", got, now)
		}
		a.files.Put(state+"/epoch", fmt.Sprint(uint64(1)<<63))
		if got := again(); got < 1 {
			t.Errorf("epoch %d", got)
		}
	})
}
