package gossip_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	restclient "k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/gossip"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

const namespace = "kube-system"

// member is an agent on loopback.
type member struct {
	*gossipkeys.Agent
	name string
	addr netip.AddrPort
	left atomic.Int32 // members that it has seen go
}

// port returns one that is free on all addresses of loopback, as it seems.
func port(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it has not come to this: %s", what)
		}
	}
}

// agent runs the agent of a node until the test ends.
func agent(t *testing.T, cfg *restclient.Config, m *member) {
	t.Helper()
	cluster, err := kube.Connect(cfg, kube.Options{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	live, cached := cluster.Live(), cluster.Cached()
	m.Agent = gossipkeys.NewAgent(gossipkeys.AgentConfig{
		Node: m.name, Clock: clock.New(), Gossip: &gossip.Gossip{Addr: m.addr},
		Peers: gossipkeys.NewNodePeers(cached, m.addr.Port()), Reporter: gossipkeys.NewNodeReporter(live, cached, m.name),
		OnMemberEvent: func(e gossipkeys.MemberEvent) {
			if e.Kind == gossipkeys.MemberLeft {
				m.left.Add(1)
			}
		},
	})
	watcher := gossipkeys.NewSecretWatcher(cached, namespace, gossipkeys.WithLiveStart(live), gossipkeys.WithVersions(m.OnVersion))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := cluster.Run(ctx, m.Controllers(watcher)...); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// TestRotationOnMemberlist: five agents on memberlist are given another key, and at no
// moment does one of them take another for dead.
func TestRotationOnMemberlist(t *testing.T) {
	cfg := fakerest.New(apiserver.New(apiserver.Options{Clock: clock.New()})).Config()
	operator, err := kube.Connect(cfg, kube.Options{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	provisioner := gossipkeys.NewProvisioner(operator.Live(), rand.Reader, namespace)
	must(provisioner.EnsureSecret(t.Context()))
	number := port(t)
	var members []*member
	var names []string
	for i := range 5 {
		m := &member{name: fmt.Sprintf("node-%d", i), addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 77, byte(i + 1)}), number)}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.name}}
		must(operator.Live().Create(t.Context(), node))
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.addr.Addr().String()}}
		must(operator.Live().Status().Update(t.Context(), node))
		members, names = append(members, m), append(names, m.name)
	}
	for _, m := range members {
		agent(t, cfg, m)
	}
	all := func() bool {
		return !slices.ContainsFunc(members, func(m *member) bool { return !slices.Equal(m.Members(), names) })
	}
	eventually(t, "all know all", all)

	rotator := gossipkeys.NewRotator(operator.Live(), operator.Live(), clock.New(), rand.Reader, namespace, gossipkeys.WithSettleTime(time.Second))
	eventually(t, "all report their keys", func() bool {
		p, err := rotator.Progress(t.Context())
		return err == nil && p.Converged
	})
	before, err := rotator.Progress(t.Context())
	must(err)
	must(rotator.Start(t.Context()))
	after, err := rotator.Run(t.Context(), 50*time.Millisecond)
	must(err)
	if after.Phase != gossipkeys.PhaseFinished || len(after.Keys) != 1 || after.Keys[0] == before.Keys[0] {
		t.Errorf("from %v to %v", before, after)
	}
	eventually(t, "all know all still", all)
	for _, m := range members {
		if n := m.left.Load(); n > 0 {
			t.Errorf("%s has seen %d members go", m.name, n)
		}
	}
}

// instance makes one, with a key that is its own.
func instance(t *testing.T, addr netip.AddrPort, name string, key gossipkeys.Key) gossipkeys.Instance {
	t.Helper()
	g := &gossip.Gossip{Addr: addr}
	i, err := g.Create(t.Context(), gossipkeys.InstanceOptions{Name: name, Keys: gossipkeys.Keys{key}, VerifyIncoming: true, VerifyOutgoing: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// TestJoin: those that answer are counted, and those that do not are named.
func TestJoin(t *testing.T) {
	number := port(t)
	at := func(n byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 78, n}), number)
	}
	key, err := gossipkeys.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := gossipkeys.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := instance(t, at(1), "a", key)
	instance(t, at(2), "b", key)
	instance(t, at(3), "stranger", other)
	joined, err := a.Join(t.Context(), []gossipkeys.Peer{{Name: "b", Addr: at(2)}, {Name: "nobody", Addr: at(4)}, {Name: "stranger", Addr: at(3)}})
	if joined != 1 || err == nil {
		t.Fatalf("joined %d, error %v", joined, err)
	}
	var names []string
	for _, m := range a.Members() {
		names = append(names, m.Name+" "+m.Addr.String())
	}
	slices.Sort(names)
	if d := cmp.Diff([]string{"a " + at(1).String(), "b " + at(2).String()}, names); d != "" {
		t.Errorf("members (-want +got):\n%s", d)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Join(ended, []gossipkeys.Peer{{Name: "b", Addr: at(2)}}); err == nil {
		t.Error("it joins after its context has ended")
	}
	if _, err := (&gossip.Gossip{Addr: at(1)}).Create(t.Context(), gossipkeys.InstanceOptions{Name: "again", Keys: gossipkeys.Keys{key}}); err == nil {
		t.Error("two instances have one address")
	}
	if _, err := (&gossip.Gossip{Addr: at(5)}).Create(t.Context(), gossipkeys.InstanceOptions{Name: "none"}); err == nil {
		t.Error("an instance has no keys")
	}
}
