package cluster

import (
	"encoding/json"
	"hash/fnv"
	"slices"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Visitor is a client outside of the simulation, such as a real kubectl. Its
// requests enter the run at the present virtual time, reach an API server without
// latency, and are answered in the same instant: a visitor waits in real time, and
// virtual time may stand still.
//
// Faults of API calls strike visitors too, as far as they need no virtual time: an
// API server that is down or whose watch cache is old, errors that it answers, broken
// connections. Targets know a visitor as "outside/" and its name.
//
// Methods are called from callbacks of the engine.
type Visitor struct {
	client Process // what faults and the trace see of it; it has no tasks
}

// Outside begins the names of visitors, so that no process has the same.
const Outside = "outside/"

// visitorsMax is how many visitors have a name of their own: names come from outside,
// and must not fill the memory.
const visitorsMax = 64

// Visitor returns the visitor of that name, made at the first call. Once there are
// very many, new ones are called "others".
func (c *Cluster) Visitor(name string) *Visitor {
	if len(c.visitors) >= visitorsMax && !c.knowsVisitor(Outside+name) {
		name = "others"
	}
	name = Outside + name
	for _, v := range c.visitors {
		if v.client.name == name {
			return v
		}
	}
	v := &Visitor{client: Process{cluster: c, node: c.control, name: name, eng: c.eng}}
	c.visitors = append(c.visitors, v)
	c.aim(&v.client)
	return v
}

func (c *Cluster) knowsVisitor(name string) bool {
	return slices.ContainsFunc(c.visitors, func(v *Visitor) bool { return v.client.name == name })
}

// Name is "outside/" and the name given.
func (v *Visitor) Name() string { return v.client.name }

// Call carries out a request other than a watch. An error that is no API status
// says how the connection broke; whether a write was applied is open then.
func (v *Visitor) Call(req *apiserver.Request) (*apiserver.Response, error) {
	r := v.request(req)
	if err := v.arrive(r); err != nil {
		return nil, err
	}
	if r.err == nil {
		r.carryOut()
	}
	if req.Name == "" && r.resp != nil && r.resp.Object != nil { // only the answer knows the name
		r.key = keyText(req.Resource.Resource, req.Namespace, r.resp.Object.GetName())
	}
	r.cluster.traceCall(r)
	v.strike(v.client.sites.reply, r)
	if r.cut != whole {
		return nil, v.brokenOff(r, errReset)
	}
	return r.resp, r.err
}

// OpenWatch opens a watch. Its events are there for the reader as soon as they
// happen, and timeoutSeconds is for the reader to keep. Reading and stopping are not
// part of the run, and may happen on any goroutine.
func (v *Visitor) OpenWatch(req *apiserver.Request) (*apiserver.Watch, error) {
	r := v.request(req)
	r.req.TimeoutSeconds = nil
	if err := v.arrive(r); err != nil {
		return nil, err
	}
	var w *apiserver.Watch
	if r.err == nil {
		w, r.err = r.inst.watch(&r.req)
	}
	r.cluster.traceWatch(&session{proc: r.proc, key: r.key}, r.err)
	return w, r.err
}

// request makes a request that is not pooled: its answer is read at leisure.
func (v *Visitor) request(req *apiserver.Request) *request {
	c := v.client.cluster
	// Names from outside are not interned: they never end.
	key := keyText(req.Resource.Resource, req.Namespace, target(req))
	return &request{cluster: c, proc: &v.client, req: *req, verb: c.keys.verb(req), key: key}
}

// arrive brings a request to an API server. An error of the server itself is left
// in the request.
func (v *Visitor) arrive(r *request) error {
	// What comes from outside is part of the history of the run. The body may hold
	// secrets: the trace has its hash.
	r.cluster.eng.Emit(engine.Event{Kind: "input", Actor: v.Name(), Verb: r.verb, Object: r.key, N: digest(&r.req)})
	v.strike(v.client.sites.send, r)
	if r.cut != whole {
		return v.brokenOff(r, errReset)
	}
	for _, i := range r.cluster.instances {
		if !i.down {
			r.inst = i
			v.strike(v.client.sites.serve, r)
			return nil
		}
	}
	return v.brokenOff(r, errRefused)
}

// strike gives faults their chance at a request, but those that need virtual time
// or a process to crash.
func (v *Visitor) strike(list []*site, r *request) {
	for _, s := range list {
		if !s.kind.inside && s.concerns(r.verb, r.key) && s.hits.Hit(s.fault.Rate) {
			s.kind.call(r, s)
		}
	}
}

// brokenOff tells the trace that a visitor gets no answer.
func (v *Visitor) brokenOff(r *request, cause error) error {
	r.err = transportError(&r.req, cause)
	r.cluster.traceError(r)
	return r.err
}

// digest is a hash of everything that a request asks for.
func digest(req *apiserver.Request) uint64 {
	h := fnv.New64a()
	// What cannot be encoded has no content to compare.
	_ = json.NewEncoder(h).Encode(req)
	return h.Sum64()
}
