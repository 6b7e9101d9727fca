package conformance

import (
	"bytes"
	"log"
	"net"
	"sync"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// library is the arm made of memberlist itself. It lives in a synctest bubble.
type library struct {
	net   *network
	begin time.Time
	nodes map[int]*realNode

	mu  sync.Mutex
	rec record
}

// realNode is one instance.
type realNode struct {
	list *memberlist.Memberlist
	keys *memberlist.Keyring
	down bool // guarded by library.mu: after Shutdown the library still reports
}

var _ arm = (*library)(nil)

func newLibrary() *library {
	return &library{net: newNetwork(delay), begin: time.Now(), nodes: make(map[int]*realNode)}
}

// observer turns one instance's callbacks into the record.
type observer struct {
	lib  *library
	node int
	real *realNode
}

func (o *observer) NotifyJoin(n *memberlist.Node)  { o.note(n, false) }
func (o *observer) NotifyLeave(n *memberlist.Node) { o.note(n, true) }
func (o *observer) NotifyUpdate(*memberlist.Node)  {}

func (o *observer) note(n *memberlist.Node, leave bool) {
	l := o.lib
	l.mu.Lock()
	defer l.mu.Unlock()
	if !o.real.down {
		l.rec.changes = append(l.rec.changes, change{time.Since(l.begin), o.node, nodeOf(n.Name), leave})
	}
}

// refusals are the library's log lines that the model reports as a failure to
// decrypt. A failed push/pull or fallback ping logs the same words at the end
// that could not read.
var refusals = [][]byte{
	[]byte("Decrypt packet failed"),
	[]byte("failed to receive: no installed keys"),
	[]byte("failed to receive: encryption is configured"),
	[]byte("failed to receive: remote state is encrypted"),
	[]byte("failed: no installed keys"),
	[]byte("failed: encryption is configured"),
	[]byte("failed: remote state is encrypted"),
	[]byte("TCP ping: no installed keys"),
	[]byte("TCP ping: encryption is configured"),
	[]byte("TCP ping: remote state is encrypted"),
	[]byte("7946: no installed keys"),
	[]byte("7946: encryption is configured"),
	[]byte("7946: remote state is encrypted"),
	[]byte("Failed to decode indirect ping request"),
}

// Write implements io.Writer for the library's log.
func (o *observer) Write(line []byte) (int, error) {
	for _, r := range refusals {
		if bytes.Contains(line, r) {
			o.lib.mu.Lock()
			defer o.lib.mu.Unlock()
			if !o.real.down {
				o.lib.rec.failures++
			}
			break
		}
	}
	return len(line), nil
}

func (l *library) start(node int, set settings) {
	cfg := memberlist.DefaultLocalConfig()
	if set.lan {
		cfg = memberlist.DefaultLANConfig()
	}
	inst := &realNode{}
	obs := &observer{l, node, inst}
	cfg.Name = nodeName(node)
	cfg.Events = obs
	cfg.EnableCompression = false // costs half of the time and changes no membership
	cfg.Logger = log.New(obs, "", 0)
	cfg.GossipVerifyIncoming, cfg.GossipVerifyOutgoing = !set.clearIn, !set.clearOut
	if len(set.keys) > 0 || set.ring {
		inst.keys, _ = memberlist.NewKeyring(nil, nil) // an empty ring cannot fail
		for _, k := range set.keys {
			if err := inst.keys.AddKey(k); err != nil {
				panic(err)
			}
		}
		cfg.Keyring = inst.keys
	}
	cfg.Transport = l.net.listen(nodeAddr(node))
	list, err := memberlist.Create(cfg)
	if err != nil {
		panic(err)
	}
	inst.list = list
	l.nodes[node] = inst
}

// live is the node's instance, nil if it is down.
func (l *library) live(node int) *realNode {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.nodes[node]; n != nil && !n.down {
		return n
	}
	return nil
}

func (l *library) join(node int, peers ...int) {
	n := l.live(node)
	if n == nil {
		return
	}
	addrs := make([]string, len(peers))
	for i, p := range peers {
		addrs[i] = nodeAddr(p)
	}
	go func() { _, _ = n.list.Join(addrs) }() // whether it worked shows in the views
}

func (l *library) end(n *realNode) {
	l.mu.Lock()
	n.down = true
	l.mu.Unlock()
	_ = n.list.Shutdown() // our transport's Shutdown does not fail
}

func (l *library) crash(node int) {
	if n := l.live(node); n != nil {
		l.end(n)
	}
}

func (l *library) leave(node int) {
	n := l.live(node)
	if n == nil {
		return
	}
	go func() {
		_ = n.list.Leave(time.Second)
		time.Sleep(time.Second)
		l.end(n)
	}()
}

func (l *library) ring(node int) gossipkeys.Keyring { return l.nodes[node].keys }

func (l *library) partition(one []int) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.net.side, l.net.cuts = nil, nil
	if one != nil {
		l.net.side = make(map[string]bool)
	}
	for _, i := range one {
		l.net.side[nodeAddr(i)] = true
	}
}

func (l *library) cut(from, to int) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if l.net.cuts == nil {
		l.net.cuts = make(map[[2]string]bool)
	}
	l.net.cuts[[2]string{nodeAddr(from), nodeAddr(to)}] = true
}

func (l *library) lose(percent int) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.net.loss = percent
}

func (l *library) health(node int) int {
	if n := l.live(node); n != nil {
		return n.list.GetHealthScore()
	}
	return -1
}

func (l *library) failSends(blame bool) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.net.fail = errPlain
	if blame {
		l.net.fail = &net.OpError{Op: "write", Net: "udp", Err: errPlain}
	}
}

func (l *library) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (l *library) now() time.Duration { return time.Since(l.begin) }

func (l *library) close() record {
	for i := range l.nodes {
		l.crash(i)
	}
	// Longer than any timeout of the library, so that its goroutines end before
	// the bubble does.
	time.Sleep(time.Minute)
	return l.rec
}
