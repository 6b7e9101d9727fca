package cloak

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
	"github.com/seedbed-sim/seedbed/fakes/nri"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// within draws from a span, in hundredths of it.
func (s *State) within(span *scenarios.Span) time.Duration {
	return span.Min + (span.Max-span.Min)*time.Duration(s.random.Intn(101))/100
}

// unlucky draws whether something happens that does once in n times. Zero is luck: that
// is where shrinking goes.
func (s *State) unlucky(n int) bool { return s.random.Intn(n) == n-1 }

// connection is a TLS connection of a workload, with its server.
type connection struct {
	work    *work
	pid     int // of the process that has made it
	socket  *kernel.Socket
	dialled netip.AddrPort
	sni     string
	host    string       // whose server it reaches
	peer    *kernel.Peer // the server
	tap     *kernel.Peer // who watches within the Pod, with the keys of the session
	racing  bool         // the workload spoils its own records

	end   int    // of the stream
	una   int    // what the server has
	acked int    // what the Pod knows that it has
	left  []byte // what has left of it
	http2
}

// exchange is one request of a workload over a connection, as it was written and as it
// arrives.
type exchange struct {
	*connection
	text  string
	views []*corev1.SecretList // of the node when it was written
	got   []byte               // by the server
}

// exchange lets a workload send one request: a name is resolved, unless there is a
// connection, the request is written, and its segments leave in any pieces, some of them
// twice.
func (s *State) exchange(ctx context.Context, env *cluster.Env, w *work, run *nri.Running) {
	s.lookInside(w)
	c := w.conn
	if c == nil {
		pid, done, err := s.process(w, run)
		if err != nil {
			return
		}
		defer done()
		switch c, err = s.connect(ctx, env, w, pid); {
		case errors.Is(err, errNoServerThere):
			w.unreached++
			w.inARow = 0
			return
		case err != nil:
			w.unresolved++
			return
		}
		if w.config.Keep {
			w.conn = c
		} else {
			defer c.socket.Close()
		}
	}
	x := &exchange{connection: c, text: s.request(w), views: slices.Clone(w.node.views)}
	if err := s.write(x, run); err != nil {
		w.conn = nil
		return // the process is gone
	}
	w.exchanges++
	for c.una < c.end {
		if !s.segment(x) {
			w.conn = nil
			return // the Pod has ended
		}
		if s.unlucky(4) && env.Clock.Sleep(ctx, 50*time.Millisecond) != nil {
			return
		}
	}
	s.judge(x)
}

// connect resolves the name of a workload's host, and connects.
func (s *State) connect(ctx context.Context, env *cluster.Env, w *work, pid int) (*connection, error) {
	to, err := s.resolve(ctx, env, w, pid)
	if err != nil {
		return nil, err
	}
	c := &connection{work: w, pid: pid, dialled: netip.AddrPortFrom(to, uint16(portOf(w.config))), sni: w.config.Host}
	if w.config.SNI != "" {
		c.sni = w.config.SNI
	}
	suite := kernel.AESGCM
	if w.config.Manner == "chacha" {
		suite = kernel.Other
	}
	d := kernel.Dial{PID: pid, Destination: c.dialled, ServerName: c.sni, Suite: suite, Sequence: uint32(s.random.Intn(1 << 20)), Master: s.master(w)}
	if c.socket, err = w.node.kernel.Connect(d); err != nil {
		return nil, err
	}
	if err := s.meet(c, d.Master); err != nil {
		c.socket.Close()
		return nil, err
	}
	if w.config.HTTP2 {
		c.start()
	}
	return c, nil
}

// master is what the keys of the next session come from.
func (s *State) master(w *work) (out [16]byte) {
	w.sessions++
	copy(out[:], fmt.Appendf(nil, "%d %s", w.sessions, w.config.Name))
	return out
}

// errNoServerThere is what a connection ends with that has reached no server.
var errNoServerThere = errors.New("nobody is there")

// meet finds the server that a connection has reached, and gives both ends their keys.
func (s *State) meet(c *connection, master [16]byte) error {
	if c.host = s.serverAt(c.socket.Remote().Addr(), c.sni); c.host == "" {
		return fmt.Errorf("connect to %s: %w", c.socket.Remote(), errNoServerThere)
	}
	var err error
	if c.peer, err = kernel.NewPeer(master); err != nil {
		return err
	}
	c.tap, err = kernel.NewPeer(master)
	return err
}

// request is what a workload writes: each placeholder that it has, and those that it has
// learnt.
func (s *State) request(w *work) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST /%d HTTP/1.1\r\nHost: %s\r\n", w.exchanges, w.config.Host)
	for _, use := range w.config.Uses {
		fmt.Fprintf(&b, "X-%s: Bearer %s\r\n", use, w.env[use+"_k"])
	}
	for _, name := range w.config.Steal {
		fmt.Fprintf(&b, "Y-%s: %s\r\n", name, s.placeholderOf(name))
	}
	b.WriteString("\r\n" + strings.Repeat("body ", s.random.Intn(60)))
	return b.String()
}

// placeholderOf is what anybody may read in a shadow.
func (s *State) placeholderOf(name string) string {
	var secret corev1.Secret
	if err := s.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: shadow.NameOf(name)}, &secret); err != nil || !shadow.Managed(&secret) {
		return ""
	}
	return string(secret.Data["k"])
}

// lost draws whether a segment gets lost.
func (s *State) lost() bool {
	if s.config.Loss > 0 {
		return s.random.Intn(100) >= 100-s.config.Loss
	}
	return s.unlucky(8)
}

// segment lets the next bytes leave, or some that have left before and are not
// acknowledged, or some that get lost. It reports whether the connection is still there.
func (s *State) segment(x *exchange) bool {
	from := x.una
	again := s.unlucky(4)
	if again {
		from = x.acked + s.random.Intn(x.una-x.acked+1)
	}
	to := from + 1 + s.random.Intn(min(x.end-from, 200))
	inside, wire := x.socket.Leave(from, to)
	if wire == nil {
		return false
	}
	s.compare(x, from, wire)
	if !again && !s.lost() {
		s.watch(x, inside)
		s.receive(x, wire)
		x.una = to
	}
	if x.una == x.end || !s.unlucky(3) { // acknowledgements get lost too
		x.acked = x.una
		x.socket.Acked(x.acked)
	}
	return true
}

func portOf(c PodConfig) int {
	if c.Port == 0 {
		return 443
	}
	return c.Port
}
