package gossip

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/hashicorp/memberlist"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// deadNodeReclaimTime lets a name that died come back under another address almost at
// once, as a Node that was replaced does.
const deadNodeReclaimTime = 10 * time.Millisecond

// Gossip makes instances of memberlist, one at a time.
type Gossip struct {
	// Addr is where instances listen, and where others reach them.
	Addr netip.AddrPort

	// Tune, if set, changes the configuration of an instance before it is made.
	Tune func(*memberlist.Config)

	// Log is told at V(1) what memberlist says.
	Log logr.Logger
}

var (
	_ gossipkeys.Gossip   = (*Gossip)(nil)
	_ gossipkeys.Instance = (*instance)(nil)
	_ gossipkeys.Keyring  = (*memberlist.Keyring)(nil)
)

// Create implements gossipkeys.Gossip.
func (g *Gossip) Create(ctx context.Context, opts gossipkeys.InstanceOptions) (gossipkeys.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create gossip instance %s: %w", opts.Name, err)
	}
	keys := opts.Keys.Bytes()
	if len(keys) == 0 {
		return nil, fmt.Errorf("create gossip instance %s: %w", opts.Name, gossipkeys.ErrNoKeys)
	}
	ring, err := memberlist.NewKeyring(keys, keys[0])
	if err != nil {
		return nil, fmt.Errorf("create gossip instance %s: %w", opts.Name, err)
	}
	i := &instance{ring: ring, members: map[string]gossipkeys.Member{}, onEvent: opts.OnEvent}
	cfg := memberlist.DefaultLocalConfig()
	cfg.DeadNodeReclaimTime = deadNodeReclaimTime
	cfg.Name, cfg.Keyring, cfg.Events = opts.Name, ring, i
	cfg.BindAddr, cfg.BindPort = g.Addr.Addr().String(), int(g.Addr.Port())
	cfg.AdvertiseAddr, cfg.AdvertisePort = cfg.BindAddr, cfg.BindPort
	cfg.GossipVerifyIncoming, cfg.GossipVerifyOutgoing = opts.VerifyIncoming, opts.VerifyOutgoing
	cfg.LogOutput = lines{g.Log.V(1)}
	if g.Tune != nil {
		g.Tune(cfg)
	}
	if i.list, err = memberlist.Create(cfg); err != nil {
		return nil, fmt.Errorf("create gossip instance %s at %s: %w", opts.Name, g.Addr, err)
	}
	return i, nil
}

// instance is one memberlist. It follows the events to know the members: what
// Memberlist.Members returns may change while it is read.
type instance struct {
	list *memberlist.Memberlist
	ring *memberlist.Keyring

	mu      sync.Mutex
	members map[string]gossipkeys.Member
	onEvent func(gossipkeys.MemberEvent)
	over    bool
}

// Keyring implements gossipkeys.Instance.
func (i *instance) Keyring() gossipkeys.Keyring { return i.ring }

// Join implements gossipkeys.Instance. Memberlist knows no contexts: what it is about
// when ctx ends comes to its own end, by the timeout of its connections.
func (i *instance) Join(ctx context.Context, peers []gossipkeys.Peer) (int, error) {
	type result struct {
		joined int
		failed []string
	}
	done := make(chan result, 1)
	go func() {
		var r result
		for _, p := range peers {
			if ctx.Err() != nil {
				r.failed = append(r.failed, p.Name)
				continue
			}
			// One by one: of several, memberlist hides those that failed.
			if _, err := i.list.Join([]string{p.Name + "/" + p.Addr.String()}); err != nil {
				r.failed = append(r.failed, fmt.Sprintf("%s (%v)", p.Name, err))
				continue
			}
			r.joined++
		}
		done <- r
	}()
	select {
	case r := <-done:
		if len(r.failed) > 0 {
			return r.joined, fmt.Errorf("join gossip peers: no answer of %s", strings.Join(r.failed, ", "))
		}
		return r.joined, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("join gossip peers: %w", ctx.Err())
	}
}

// Members implements gossipkeys.Instance.
func (i *instance) Members() []gossipkeys.Member {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make([]gossipkeys.Member, 0, len(i.members))
	for _, m := range i.members {
		all = append(all, m)
	}
	return all
}

// Leave implements gossipkeys.Instance.
func (i *instance) Leave(timeout time.Duration) error { return i.list.Leave(timeout) }

// Shutdown implements gossipkeys.Instance.
func (i *instance) Shutdown() error {
	err := i.list.Shutdown()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.over = true
	return err
}

// NotifyJoin implements memberlist.EventDelegate.
func (i *instance) NotifyJoin(n *memberlist.Node) { i.changed(gossipkeys.MemberJoined, n) }

// NotifyLeave implements memberlist.EventDelegate.
func (i *instance) NotifyLeave(n *memberlist.Node) { i.changed(gossipkeys.MemberLeft, n) }

// NotifyUpdate implements memberlist.EventDelegate.
func (i *instance) NotifyUpdate(n *memberlist.Node) { i.changed(gossipkeys.MemberUpdated, n) }

// changed is called with memberlist's lock held.
func (i *instance) changed(kind gossipkeys.MemberEventKind, n *memberlist.Node) {
	addr, _ := netip.AddrFromSlice(n.Addr)
	m := gossipkeys.Member{Name: n.Name, Addr: netip.AddrPortFrom(addr.Unmap(), n.Port)}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over {
		return
	}
	if kind == gossipkeys.MemberLeft {
		delete(i.members, n.Name)
	} else {
		i.members[n.Name] = m
	}
	if i.onEvent != nil {
		i.onEvent(gossipkeys.MemberEvent{Kind: kind, Member: m})
	}
}

// lines logs what is written to it.
type lines struct{ log logr.Logger }

var _ io.Writer = lines{}

// Write implements io.Writer; memberlist writes one line at a time.
func (l lines) Write(p []byte) (int, error) {
	_, text, found := strings.Cut(strings.TrimSpace(string(p)), " memberlist: ")
	if !found {
		text = strings.TrimSpace(string(p))
	}
	l.log.Info("Memberlist says", "text", text)
	return len(p), nil
}
