package cluster

import (
	"context"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// request is one API call on its way through the cluster. It passes
//
//	send → (latency, loss) → serve → (latency, loss) → reply → finish
//
// where every arrow is an event in virtual time. The caller is a parked task
// (wait) or a callback (then). Requests are pooled: finish or give up, whoever
// comes last, returns one.
type request struct {
	cluster *Cluster
	proc    *Process
	inc     int // the incarnation that sent it; replies to another are dropped
	req     apiserver.Request
	verb    string // for the trace: "get", "update/status"
	key     string // "secrets/kube-system/x"
	flight

	begin func(*engine.Wait) // start, bound once per pooled request
	work  apiserver.Work     // the answer lives here until the next use
	next  *request
}

// flight is the part of a request that begins anew with each use.
type flight struct {
	inst     *Instance
	epoch    int           // of the instance when it was sent
	delay    time.Duration // added by faults to the next hop
	late     time.Duration // added by faults to the way back
	behind   time.Duration // for how long it may wait to be overtaken, added by faults
	moved    time.Duration // when it was sent, or answered; for the trace
	hold     time.Duration // added by faults between encoding and commit
	mask     error         // answered by the server instead of what came of it
	attempts int           // retries that the client made by itself

	resp *apiserver.Response
	err  error

	wait *engine.Wait
	then func(r *request)
	arg  any // of then's owner

	goOn       func(any) // after it was overtaken
	limit      engine.Timer
	behindNext *request // that waits for the same

	cut       cut  // set by faults
	crash     bool // the process crashes at the end of this hop
	abandoned bool // the caller has given up
}

// cut says how a request or its answer gets lost.
type cut uint8

const (
	whole  cut = iota
	reset      // the connection breaks visibly
	silent     // nothing is heard until the client gives up
)

// caller is the API path of one process: it satisfies apiserver.Caller.
type caller struct{ proc *Process }

// Call sends req and parks the running task until the answer, the client's own
// timeout, or the end of ctx.
func (c caller) Call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	p := c.proc
	p.eng.Enter()
	r := p.cluster.newRequest(p, req)
	if p.sites.send != nil {
		p.strikeSend(r)
	}
	op := engine.Op{Verb: r.verb, Key: r.key, Write: req.Verb.Write()}
	if err := p.proc.Await(ctx, op, r.begin); err != nil {
		r.abandoned = true
		return nil, transportError(req, err)
	}
	resp, err := r.resp, r.err
	p.cluster.freeRequest(r)
	return resp, err
}

// send is Call for callbacks: then runs with the answer, unless the process has
// ended by then.
func (p *Process) send(req *apiserver.Request, then func(r *request), arg any) {
	r := p.cluster.newRequest(p, req)
	r.then, r.arg = then, arg
	if p.departs(r) {
		r.start(nil)
	}
}

func (c *Cluster) newRequest(p *Process, req *apiserver.Request) *request {
	r := c.freeReq
	if r == nil {
		r = &request{cluster: c}
		r.begin = r.start
	} else {
		c.freeReq = r.next
		r.next = nil
	}
	r.proc, r.inc, r.req = p, p.incarnation, *req
	about := p.keys.of(c.keys, req.Resource.Resource, req.Namespace, target(req))
	r.key = about.text
	r.verb = c.keys.verb(req)
	about.traffic.count(r)
	if r.req.User == nil {
		r.req.User = p.spec.User
	}
	if req.Object != nil && !req.Owned {
		// What is sent is what the caller had at this moment, whatever it does
		// to its object while the request is on its way.
		c.store.Snapshot(&r.req)
	}
	return r
}

func (c *Cluster) freeRequest(r *request) {
	r.flight = flight{}
	r.next = c.freeReq
	c.freeReq = r
}

// start puts the request on the wire.
func (r *request) start(w *engine.Wait) {
	r.wait = w
	r.transmit()
}

// transmit starts one attempt.
func (r *request) transmit() {
	p := r.proc
	r.resp, r.err = nil, nil
	inst, err := p.connect()
	if err != nil {
		r.err = transportError(&r.req, err)
		r.cluster.eng.After(p.latency.Duration(r.cluster.cfg.Latency), finish, r)
		return
	}
	r.inst, r.epoch = inst, inst.epoch
	r.moved = p.eng.Elapsed()
	d := p.latency.Duration(r.cluster.cfg.Latency) + r.delay
	r.delay = 0
	switch {
	case r.cut == reset:
		r.lose(d, errReset)
	case r.cut == silent || !p.cluster.reaches(p.node, inst.node):
		r.lose(r.cluster.cfg.Client.Timeout, errConnLost)
	default:
		r.cluster.eng.After(d, serve, r)
	}
}

// lose ends the attempt after d without a word from the server.
func (r *request) lose(d time.Duration, cause error) {
	r.cut = whole
	r.resp, r.err = nil, transportError(&r.req, cause)
	r.proc.drop()
	r.cluster.eng.After(d, finish, r)
}

// serve runs when the request reaches the API server.
func serve(arg any) {
	r := arg.(*request)
	p, inst := r.proc, r.inst
	if inst.epoch != r.epoch {
		r.lose(0, inst.brokenBy())
		return
	}
	p.cluster.enter(r)
	if p.sites.serve != nil {
		p.strike(p.sites.serve, r)
	}
	switch {
	case r.behind > 0 && r.err == nil:
		r.holdUp(serveLate)
	case r.hold > 0 && r.err == nil:
		r.encode()
	default:
		r.answer()
	}
}

// serveLate carries out what has waited to be overtaken, unless the API server has
// gone in the meantime.
func serveLate(arg any) {
	r := arg.(*request)
	if r.inst.epoch != r.epoch {
		r.lose(0, r.inst.brokenBy())
		return
	}
	r.answer()
}

// encode is the first part of a write that takes long: what it writes is sealed by what
// the API server has loaded now, and committed later, whatever becomes of the server.
func (r *request) encode() {
	if l := r.inst.server.Encryption(); l != nil {
		r.req.Encoded = l.Transformers().Snapshot()
	}
	d := r.hold
	r.hold = 0
	r.cluster.eng.After(d, commit, r)
}

// commit is the second.
func commit(arg any) {
	r := arg.(*request)
	r.answer()
}

// answer carries the request out and sends the answer on its way.
func (r *request) answer() {
	c, p := r.cluster, r.proc
	if r.err == nil {
		r.carryOut()
	}
	c.traceCall(r)
	if p.sites.reply != nil {
		p.strike(p.sites.reply, r)
		if r.crash {
			r.crash = false
			p.crash("right after its request was carried out")
		}
	}
	if r.behind > 0 && r.cut == whole {
		r.holdUp(returnAnswer)
		return
	}
	returnAnswer(r)
}

// returnAnswer sends the answer on its way.
func returnAnswer(arg any) {
	r := arg.(*request)
	c, p, inst := r.cluster, r.proc, r.inst
	r.behind = 0
	d := p.latency.Duration(c.cfg.Latency) + r.delay + r.late
	r.delay, r.late = 0, 0
	switch {
	case r.cut == reset:
		r.lose(d, errReset)
	case r.cut == silent || !c.reaches(inst.node, p.node):
		r.lose(c.cfg.Client.Timeout, errConnLost)
	default:
		c.eng.After(d, reply, r)
	}
}

// carryOut lets the API server do it.
func (r *request) carryOut() {
	r.cluster.serving = r.proc
	r.resp, r.err = r.inst.server.DoIn(&r.work, &r.req)
	r.cluster.serving = nil
	r.late += r.work.Took()
	if r.err == nil && r.req.Verb.Write() {
		r.cluster.wrote(r.proc.name, &r.req, r.resp)
		r.cluster.overtake(r.key)
		r.proc.moveOn()
		r.cluster.eng.Touch()
	}
	if r.mask != nil {
		r.resp, r.err, r.mask = nil, r.mask, nil
	}
}

// reply runs when the answer reaches the client.
func reply(arg any) {
	r := arg.(*request)
	if r.inst.epoch != r.epoch {
		// The server went away with the answer in its buffers.
		r.resp, r.err = nil, transportError(&r.req, errEOF)
		r.proc.drop()
	}
	r.cluster.noteAnswer(r)
	finish(r)
}

// finish hands the outcome to the caller, or retries as client-go does.
func finish(arg any) {
	r := arg.(*request)
	p := r.proc
	if r.abandoned || r.inc != p.incarnation || !p.alive {
		r.cluster.freeRequest(r)
		return
	}
	if r.err != nil && r.attempts < r.cluster.cfg.Client.Retries {
		if seconds, again := retryAfter(&r.req, r.err); again {
			r.attempts++
			r.cluster.traceRetry(r, seconds)
			r.cluster.eng.After(time.Duration(seconds)*time.Second, resend, r)
			return
		}
	}
	if r.err != nil {
		r.cluster.traceError(r)
	}
	if r.wait != nil {
		r.wait.Done()
		return
	}
	p.proc.Deliver(callBack, r)
}

// callBack gives the answer to a callback caller.
func callBack(arg any) {
	r := arg.(*request)
	r.then(r)
	r.cluster.freeRequest(r)
}

// resend is the next attempt of a request that its client retries.
func resend(arg any) {
	r := arg.(*request)
	if r.abandoned || r.inc != r.proc.incarnation || !r.proc.alive {
		r.cluster.freeRequest(r)
		return
	}
	r.inst = nil
	if r.proc.departs(r) {
		r.transmit()
	}
}
