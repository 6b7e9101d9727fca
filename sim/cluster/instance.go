package cluster

import (
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Instance is one API server over the cluster's store. It may be down, and its
// watch cache may lag behind the store.
type Instance struct {
	cluster *Cluster
	name    string
	node    *Node // where it runs, for the network
	server  *apiserver.Server

	// epoch counts its lives. Connections, requests and watches belong to one
	// epoch and break with it.
	epoch int
	down  bool
	startup
	frozen   int    // freezes in force
	since    uint64 // its watch cache begins here
	sessions []*session
}

// Name is "apiserver-0", "apiserver-1", …
func (i *Instance) Name() string { return i.name }

// Server is the API server itself, to be used without latency or faults.
func (i *Instance) Server() *apiserver.Server { return i.server }

// Down reports whether the instance does not answer now.
func (i *Instance) Down() bool { return i.down }

// Stop takes the instance down: connections break, requests on their way to it
// and answers on their way back are lost.
func (i *Instance) Stop() {
	i.unschedule()
	if i.down {
		return
	}
	i.down = true
	i.epoch++
	i.cluster.emit("proc", i.name, "stop", "", 0, "goes down")
	for len(i.sessions) > 0 {
		i.sessions[len(i.sessions)-1].hangUp(errEOF)
	}
	i.server.Restart() // the watches of visitors
	i.unload()
}

// Start brings the instance up again, with an empty watch cache: watches from
// before now get 410 Gone. A process that ends at once, as it cannot load what its
// flags say, is started again and again with a back-off, until Stop.
func (i *Instance) Start() {
	if i.down {
		i.unschedule()
		i.launch()
	}
}

// up lets the instance answer from now on.
func (i *Instance) up() {
	i.down = false
	i.since = i.cluster.store.Revision()
	i.cluster.emit("proc", i.name, "start", "", 0, "is up again; its watch cache is empty")
}

// Restart takes the instance down for d.
func (i *Instance) Restart(d time.Duration) {
	i.Stop()
	i.cluster.eng.After(d, func(any) { i.Start() }, nil)
}

// watch opens a watch. A revision from before the instance's last start is too
// old for it, although the store may remember it.
func (i *Instance) watch(req *apiserver.Request) (*apiserver.Watch, error) {
	from, err := strconv.ParseUint(req.ResourceVersion, 10, 64)
	if err == nil && from > 0 && from < i.since && req.SendInitialEvents == nil {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, i.since))
	}
	return i.server.Watch(req)
}

// freeze stops the instance's watch cache where it is until the returned
// function is called. Freezes overlap.
func (i *Instance) freeze() (thaw func()) {
	i.frozen++
	i.server.Freeze()
	return func() {
		if i.frozen--; i.frozen > 0 {
			return
		}
		i.cluster.emit("fault", i.name, "live", "", 0, "its watch cache has caught up")
		i.server.Live()
	}
}

// brokenBy is the error of a request that finds the instance of its connection
// gone.
func (i *Instance) brokenBy() error {
	if i.down {
		return errRefused
	}
	return errReset
}

// connect returns the instance that the process talks to. A connection is kept
// until it breaks; then the load balancer picks one, which may be down.
func (p *Process) connect() (*Instance, error) {
	if p.conn != nil && p.conn.epoch == p.connEpoch && !p.conn.down {
		return p.conn, nil
	}
	if past := p.past; past != nil && !past.down {
		p.conn, p.connEpoch = past, past.epoch
		return past, nil
	}
	all := p.cluster.instances
	n := p.index % len(all)
	if len(all) > 1 {
		n = (n + p.stream("dial").Intn(len(all))) % len(all)
	}
	if all[n].down {
		return nil, errRefused
	}
	p.conn, p.connEpoch = all[n], all[n].epoch
	return p.conn, nil
}

// drop forgets the connection after an error.
func (p *Process) drop() { p.conn = nil }
