package gossipkeys_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/memberlist"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// stage is everything around one agent: it plays gossip, peers, reporter and
// log, and writes down who was called when.
type stage struct {
	t     *testing.T
	start time.Time

	mu      sync.Mutex
	history []string
	failing map[string]error         // by verb
	takes   map[string]time.Duration // how long the verb takes
	ring    *memberlist.Keyring
	opts    gossipkeys.InstanceOptions
	members []string
	peers   []string
	reports []gossipkeys.Report
}

// at writes down an event and answers for the verb, which is its first word.
func (s *stage) at(ctx context.Context, format string, args ...any) error {
	event := fmt.Sprintf(format, args...)
	verb := strings.Fields(event)[0]
	s.mu.Lock()
	s.history = append(s.history, fmt.Sprintf("%v %s", time.Since(s.start), event))
	err, takes := s.failing[verb], s.takes[verb]
	s.mu.Unlock()
	if takes > 0 {
		if wait := (wallClock{}).Sleep(ctx, takes); wait != nil {
			return wait
		}
	}
	return err
}

func (s *stage) Create(ctx context.Context, opts gossipkeys.InstanceOptions) (gossipkeys.Instance, error) {
	if err := s.at(context.WithoutCancel(ctx), "create %s", letters(opts.Keys)); err != nil {
		return nil, err
	}
	ring, err := memberlist.NewKeyring(opts.Keys.Bytes(), opts.Keys[0].Bytes())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring, s.opts, s.members = ring, opts, []string{opts.Name}
	return s, err
}

func (s *stage) Keyring() gossipkeys.Keyring { return stageRing{s.ring, s} }

// stageRing fails when the stage says so.
type stageRing struct {
	*memberlist.Keyring
	s *stage
}

func (r stageRing) UseKey(key []byte) error {
	if err := r.s.at(context.Background(), "use %c", key[0]); err != nil {
		return err
	}
	return r.Keyring.UseKey(key)
}

func (s *stage) Join(ctx context.Context, peers []gossipkeys.Peer) (int, error) {
	var names []string
	for _, p := range peers {
		names = append(names, p.Name)
	}
	if err := s.at(ctx, "join %s", strings.Join(names, " ")); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = append(s.members, names...)
	return len(names), nil
}

func (s *stage) Members() []gossipkeys.Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []gossipkeys.Member
	for _, name := range s.members {
		out = append(out, gossipkeys.Member{Name: name})
	}
	return out
}

func (s *stage) Leave(timeout time.Duration) error {
	return s.at(context.Background(), "leave %v", timeout)
}
func (s *stage) Shutdown() error { return s.at(context.Background(), "shutdown") }

func (s *stage) Peers(context.Context) ([]gossipkeys.Peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []gossipkeys.Peer
	for _, name := range s.peers {
		out = append(out, gossipkeys.Peer{Name: name})
	}
	return out, s.failing["peers"]
}

func (s *stage) Report(ctx context.Context, r gossipkeys.Report) error {
	s.mu.Lock()
	s.reports = append(s.reports, r)
	s.mu.Unlock()
	return s.at(ctx, "report %d", r.Generation)
}

func (s *stage) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// events returns what happened that begins with one of the verbs.
func (s *stage) events(verbs ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, event := range s.history {
		if slices.Contains(verbs, strings.Fields(event)[1]) {
			out = append(out, event)
		}
	}
	return out
}

func (s *stage) want(verbs string, want ...string) {
	s.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, s.events(strings.Fields(verbs)...)); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", verbs, diff)
	}
}

// play runs an agent named "me" on a stage until the story returns, and tells
// the epilogue, if any, when the agent has ended.
func play(t *testing.T, config gossipkeys.AgentConfig, story func(*stage, *gossipkeys.Agent), epilogue ...func(*stage, *gossipkeys.Agent)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, start: time.Now(), failing: map[string]error{}, takes: map[string]time.Duration{}}
		config.Node, config.Clock, config.Gossip, config.Peers, config.Reporter = "me", wallClock{}, s, s, s
		config.Log = funcr.New(func(_, args string) {
			if strings.Contains(args, "Not in the gossip cluster") {
				_ = s.at(context.Background(), "warn")
			}
		}, funcr.Options{})
		a := gossipkeys.NewAgent(config)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		synctest.Wait()
		story(s, a)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		for _, tell := range epilogue {
			tell(s, a)
		}
	})
}

var anIP = netip.MustParseAddr("10.0.0.1")

// Invariant 11: without keys there is no instance, no member and no claim, and
// a warning every minute.
func TestAgentWithoutKeysIsNobody(t *testing.T) {
	config := gossipkeys.AgentConfig{AcceptPlaintext: true, SendPlaintext: true}
	play(t, config, func(s *stage, a *gossipkeys.Agent) {
		s.set(func() { s.peers = []string{"me", "b"} })
		time.Sleep(150 * time.Second)
		s.want("create join report leave warn", "1m0s warn", "2m0s warn")
		if a.Ready() || a.Members() != nil || a.OwnsIP(anIP) {
			t.Error("claims something without keys")
		}
	})
}

func TestAgentFirstKeys(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		s.set(func() { s.peers = []string{"me", "b", "c"} })
		time.Sleep(90 * time.Second)
		a.OnVersion(gossipkeys.Version{Generation: 1}, keys("BAB"))
		a.OnKeys(keys("BAB"))
		s.want("create join warn", "1m0s warn", "1m30s create BA", "1m30s join b c")
		s.want("report", "1m30s report 1")
		if !s.opts.VerifyIncoming || !s.opts.VerifyOutgoing || s.opts.Name != "me" {
			t.Errorf("options: %+v", s.opts)
		}
		if got := a.Members(); !a.Ready() || !slices.Equal(got, []string{"b", "c", "me"}) {
			t.Errorf("ready %t, members %v", a.Ready(), got)
		}
		time.Sleep(5 * time.Minute)
		s.want("create join warn", "1m0s warn", "1m30s create BA", "1m30s join b c")
	})
}

func TestAgentPlaintextFlags(t *testing.T) {
	for _, accept := range []bool{false, true} {
		for _, send := range []bool{false, true} {
			play(t, gossipkeys.AgentConfig{AcceptPlaintext: accept, SendPlaintext: send}, func(s *stage, a *gossipkeys.Agent) {
				a.OnKeys(keys("A"))
				synctest.Wait()
				if s.opts.VerifyIncoming == accept || s.opts.VerifyOutgoing == send {
					t.Errorf("accept %t, send %t: options %+v", accept, send, s.opts)
				}
			})
		}
	}
}

// A key change changes the ring of the one instance, then joins those who could
// not be understood before.
func TestAgentKeyChange(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		a.OnKeys(keys("A"))
		synctest.Wait()
		s.set(func() { s.peers = []string{"b"} })
		time.Sleep(10 * time.Second)
		a.OnKeys(keys("BA"))
		s.want("create use join", "0s create A", "10s use B", "10s join b")
		if got := ringLetters(s.ring); got != "BA" {
			t.Errorf("ring %s", got)
		}
		a.OnKeys(keys("BA")) // nothing new
		s.want("create use join", "0s create A", "10s use B", "10s join b")
	})
}

func TestAgentHardSwapInstallsTheFirstKeyOnly(t *testing.T) {
	play(t, gossipkeys.AgentConfig{Mode: gossipkeys.HardSwap}, func(s *stage, a *gossipkeys.Agent) {
		a.OnKeys(keys("AB"))
		synctest.Wait()
		if got := ringLetters(s.ring); got != "A" {
			t.Errorf("ring %s", got)
		}
		a.OnVersion(gossipkeys.Version{Generation: 3}, keys("BA"))
		a.OnKeys(keys("BA"))
		synctest.Wait()
		last := s.reports[len(s.reports)-1]
		if got := ringLetters(s.ring); got != "B" || !slices.Equal(last.Keys, keys("B").Fingerprints()) {
			t.Errorf("ring %s, report %v", got, last)
		}
	})
}

// Scenario 21, and the back-off of section 1: attempts after 5, 10, 20, …
// seconds, at once for a new list, and always with the latest one.
func TestAgentRetriesWithTheLatestList(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		s.set(func() { s.failing["create"] = errors.New("port in use"); s.takes["create"] = 3 * time.Second })
		a.OnKeys(keys("A"))
		time.Sleep(9 * time.Second)
		a.OnKeys(keys("B")) // while the second attempt is under way
		a.OnKeys(keys("C"))
		time.Sleep(5 * time.Second)
		s.want("create", "0s create A", "8s create A", "11s create C")
		s.set(func() { delete(s.failing, "create") })
		time.Sleep(time.Hour)
		s.want("create", "0s create A", "8s create A", "11s create C", "34s create C")
	})
}

// After a success, trouble is counted afresh.
func TestAgentRetryStartsAgain(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		s.set(func() { s.failing["create"] = errors.New("port in use") })
		a.OnKeys(keys("A"))
		time.Sleep(20 * time.Second)
		s.set(func() { delete(s.failing, "create"); s.failing["use"] = errors.New("broken") })
		time.Sleep(20 * time.Second)
		a.OnKeys(keys("B"))
		time.Sleep(20 * time.Second)
		s.want("create use", "0s create A", "5s create A", "15s create A", "35s create A", "40s use B", "45s use B", "55s use B")
	})
}

func TestAgentIgnoresAnEmptyList(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		a.OnKeys(nil)
		synctest.Wait()
		a.OnKeys(keys("A"))
		synctest.Wait()
		a.OnKeys(nil)
		time.Sleep(time.Minute)
		s.want("create use", "0s create A")
		if got := ringLetters(s.ring); got != "A" || len(s.reports) != 2 {
			t.Errorf("ring %s, %d reports", got, len(s.reports))
		}
	})
}

func TestAgentRetryCap(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		s.set(func() { s.failing["create"] = errors.New("port in use") })
		a.OnKeys(keys("A"))
		time.Sleep(1000 * time.Second)
		s.want("create", "0s create A", "5s create A", "15s create A", "35s create A", "1m15s create A",
			"2m35s create A", "5m15s create A", "10m15s create A", "15m15s create A")
	})
}

// Section 7: every 60 s whoever is missing is joined, and only they.
func TestAgentRejoins(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		s.set(func() { s.peers = []string{"b", "c", "me"} })
		a.OnKeys(keys("A"))
		time.Sleep(70 * time.Second)
		s.set(func() { s.members = []string{"c"} }) // even if gossip forgot us
		time.Sleep(60 * time.Second)
		s.set(func() { s.failing["join"] = errors.New("unreachable"); s.members = []string{"me"} })
		time.Sleep(120 * time.Second)
		s.want("join", "0s join b c", "2m0s join b", "3m0s join b c", "4m0s join b c")
	})
}

func TestAgentSurvivesNotKnowingItsPeers(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		s.set(func() { s.peers = []string{"b"}; s.failing["peers"] = errors.New("cache not there") })
		a.OnKeys(keys("A"))
		time.Sleep(30 * time.Second)
		s.set(func() { delete(s.failing, "peers") })
		time.Sleep(30 * time.Second)
		s.want("join", "1m0s join b")
	})
}

// A new Node is joined at once; the events of those who are members already
// cost nothing.
func TestAgentNoticesNewNodes(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		m := newMemory()
		controllers := a.Controllers(gossipkeys.NewSecretWatcher(m, namespace))
		if len(controllers) != 2 {
			t.Fatalf("%d controllers", len(controllers))
		}
		m.putSecret(t, text("A"))
		if _, err := controllers[0].Reconciler.Reconcile(t.Context(), reconcile.Request{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		s.set(func() { s.peers = []string{"b", "me"} })
		nodeEvent(t, controllers[1], "b")
		s.want("create join", "0s create A", "10s join b")
		s.set(func() { s.peers = []string{"b", "c"} })
		nodeEvent(t, controllers[1], "b")
		s.want("join", "10s join b")
	})
}

// nodeEvent does what a driver does for an event of a Node.
func nodeEvent(t *testing.T, c kube.Controller, name string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, request := range c.Watches[0].Requests(t.Context(), node) {
		if _, err := c.Reconciler.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
}

// The order of section 7: the worker first, so that nothing is created any
// more; then leave, then shut down.
func TestAgentShutdownOrder(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(_ *stage, a *gossipkeys.Agent) {
		a.OnKeys(keys("A"))
		time.Sleep(time.Second)
	}, func(s *stage, a *gossipkeys.Agent) {
		s.want("create leave shutdown", "0s create A", "1s leave 1s", "1s shutdown")
		if !a.Ready() || a.Members() != nil || a.OwnsIP(anIP) {
			t.Error("after the end an agent is still ready, and claims nothing")
		}
		a.OnKeys(keys("B"))
		a.OnVersion(gossipkeys.Version{}, keys("B"))
		if err := a.Run(t.Context()); err == nil {
			t.Error("a second run is refused")
		}
	})
}

// Scenario 22: an end in the middle of creating still shuts down what comes of
// it, and a list that is queued changes nothing.
func TestAgentEndsWhileCreating(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		s.takes["create"] = 3 * time.Second
		a.OnKeys(keys("A"))
		time.Sleep(time.Second)
		a.OnKeys(keys("B"))
	}, func(s *stage, _ *gossipkeys.Agent) {
		s.want("create use leave shutdown", "0s create A", "3s leave 1s", "3s shutdown")
	})
}

func TestAgentReportsTroubleOnLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, start: time.Now(), failing: map[string]error{"leave": errors.New("slow"), "shutdown": errors.New("stuck")}}
		a := gossipkeys.NewAgent(gossipkeys.AgentConfig{Node: "me", Clock: wallClock{}, Gossip: s, Peers: s})
		a.OnKeys(keys("A"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := a.Run(ctx)
		if !errors.Is(err, s.failing["leave"]) || !errors.Is(err, s.failing["shutdown"]) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAgentMemberEvents(t *testing.T) {
	var seen []string
	config := gossipkeys.AgentConfig{OnMemberEvent: func(e gossipkeys.MemberEvent) {
		seen = append(seen, fmt.Sprint(e.Kind, " ", e.Member.Name))
	}}
	play(t, config, func(s *stage, a *gossipkeys.Agent) {
		a.OnKeys(keys("A"))
		synctest.Wait()
		s.opts.OnEvent(gossipkeys.MemberEvent{Kind: gossipkeys.MemberJoined, Member: gossipkeys.Member{Name: "b"}})
	}, func(s *stage, _ *gossipkeys.Agent) {
		s.opts.OnEvent(gossipkeys.MemberEvent{Kind: gossipkeys.MemberLeft, Member: gossipkeys.Member{Name: "b"}})
	})
	if diff := cmp.Diff([]string{"joined b"}, seen); diff != "" {
		t.Errorf("nothing is passed on after the end (-want +got):\n%s", diff)
	}
}
