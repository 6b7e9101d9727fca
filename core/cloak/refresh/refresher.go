package refresh

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/cloak/answers"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/core/clock"
)

// Period is the time between looks for hosts whose addresses are past their time.
const Period = 30 * time.Second

// serversMax is how many servers are asked about a host before it has to wait for the next
// look.
const serversMax = 3

// errNobody is why a host cannot be asked for.
var errNobody = errors.New("no DNS server is trusted")

// Exchanger sends a DNS query to port 53 of a server over UDP, from a port that nobody can
// guess, and returns what that server sends back to it. It gives up after a while.
type Exchanger interface {
	Exchange(ctx context.Context, server netip.Addr, query []byte) ([]byte, error)
}

// Config is what a Refresher needs.
type Config struct {
	Plane     plane.Resolvers
	Exchanger Exchanger
	Clock     clock.Clock
	Entropy   io.Reader // of the numbers of queries
	Log       logr.Logger
}

// Refresher asks for the addresses of hosts in place of Pods that do not.
type Refresher struct {
	Config

	mu      sync.Mutex
	servers []netip.Addr
}

// New returns a Refresher that trusts nobody yet.
func New(cfg Config) *Refresher { return &Refresher{Config: cfg} }

// Trust makes exactly these the servers that are asked, the first before the others. It may
// be called while Run runs.
func (r *Refresher) Trust(servers []netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = slices.Clone(servers)
}

func (r *Refresher) trusted() []netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.servers
}

// Run refreshes every [Period] until ctx ends, and returns why it ended.
func (r *Refresher) Run(ctx context.Context) error {
	for {
		if err := r.Clock.Sleep(ctx, Period); err != nil {
			return err
		}
		if err := r.Refresh(ctx); err != nil {
			r.Log.Error(err, "Could not ask for the addresses of all hosts")
		}
	}
}

// Refresh asks once for each host whose addresses are past their time. What cannot be had
// of one host does not keep it from the others; the error names them all.
func (r *Refresher) Refresh(ctx context.Context) error {
	expired, err := r.Plane.Expired(ctx)
	if err != nil {
		return fmt.Errorf("look for hosts whose addresses are past their time: %w", err)
	}
	var failed []error
	for _, row := range expired {
		if err := r.host(ctx, row); err != nil {
			failed = append(failed, fmt.Errorf("host %s: %w", row.Host, err))
		}
	}
	return errors.Join(failed...)
}

// host asks for the addresses of a host, of the families that it has a virtual IP of.
func (r *Refresher) host(ctx context.Context, row virtualip.Row) error {
	var real []answers.Real
	var failed []error
	for _, of := range []struct {
		virtual netip.Addr
		kind    uint16
	}{{row.V4, answers.TypeA}, {row.V6, answers.TypeAAAA}} {
		if !of.virtual.IsValid() {
			continue
		}
		got, err := r.ask(ctx, row.Host, of.kind)
		real, failed = append(real, got...), append(failed, err)
	}
	if len(real) > 0 {
		failed = append(failed, r.Plane.Learn(ctx, row.ID(), real))
	}
	return errors.Join(failed...)
}

// ask puts one question to one server after the other, until one answers it.
func (r *Refresher) ask(ctx context.Context, host string, kind uint16) ([]answers.Real, error) {
	servers := r.trusted()
	if len(servers) == 0 {
		return nil, errNobody
	}
	var failed []error
	for _, server := range servers[:min(len(servers), serversMax)] {
		real, err := r.exchange(ctx, server, host, kind)
		if err == nil {
			return real, nil
		}
		failed = append(failed, fmt.Errorf("ask %s: %w", server, err))
	}
	return nil, errors.Join(failed...)
}

func (r *Refresher) exchange(ctx context.Context, server netip.Addr, host string, kind uint16) ([]answers.Real, error) {
	var id [2]byte
	if _, err := io.ReadFull(r.Entropy, id[:]); err != nil {
		return nil, fmt.Errorf("draw the number of a query: %w", err)
	}
	question := answers.Question{ID: binary.BigEndian.Uint16(id[:]), Name: host, Type: kind}
	query, err := question.Pack()
	if err != nil {
		return nil, err
	}
	answer, err := r.Exchanger.Exchange(ctx, server, query)
	if err != nil {
		return nil, err
	}
	return answers.Addresses(answer, question)
}
