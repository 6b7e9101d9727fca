package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// sink receives what comes out of a watch, in the process that opened it.
type sink interface {
	// refused says that the watch was not opened.
	refused(err error)

	// event is called for each event, in the order of the server.
	event(ev apiserver.Event)

	// ended says that the stream is over: nil if the server closed it in order,
	// else how the connection broke.
	ended(err error)
}

// opener is a sink that wants to know when the server has accepted the watch.
type opener interface{ opened() }

// session is one open watch: a cursor in an API server's history, and a
// connection over which events arrive first in, first out, each after a latency
// of its own.
type session struct {
	proc  *Process
	inc   int
	inst  *Instance
	epoch int
	sink  sink
	req   *apiserver.Request // until the server has accepted
	key   string

	stream  *apiserver.Watch // nil until the server has accepted
	slot    int              // in inst.sessions
	last    time.Duration    // when the latest event sent will arrive
	sent    time.Duration    // when the latest event that arrived was sent
	expiry  engine.Timer     // of timeoutSeconds
	ticker  engine.Timer     // of bookmarks
	late    time.Duration    // added by faults to the way back
	waiting *waiting         // what faults hold back, or nil
	header  bool             // the server has answered that it accepts
	cutOff  bool             // the network is partitioned
	giveUp  engine.Timer     // runs while cutOff
	closed  bool             // the client does not listen any more
	hungUp  bool             // the server does not send any more
}

// bookmarkEvery is how often an API server sends a bookmark on a quiet watch.
const bookmarkEvery = time.Minute

// openWatch sends the request for a watch, which it takes over; the rest happens
// in the sink.
func (p *Process) openWatch(req *apiserver.Request, to sink) *session {
	s := &session{proc: p, inc: p.incarnation, sink: to, req: req, slot: -1}
	s.key = p.cluster.keys.object(req.Resource.Resource, req.Namespace, "")
	if s.req.User == nil {
		s.req.User = p.spec.User
	}
	c := p.cluster
	b := p.strikeOpen(p.sites.send, s, nil)
	if b.crash {
		s.closed, s.hungUp = true, true
		p.crash("crashes") // does not return on a task of the process
		return s
	}
	s.late = b.late
	d := p.latency.Duration(c.cfg.Latency) + b.delay
	inst, err := p.connect()
	switch {
	case err != nil:
		s.fail(d, transportError(req, err))
	case b.cut != whole:
		s.lose(b.cut, d)
	case !c.reaches(p.node, inst.node):
		p.drop()
		s.fail(c.cfg.Client.Timeout, transportError(req, errNoRoute))
	default:
		s.inst, s.epoch = inst, inst.epoch
		c.eng.After(d, accept, s)
	}
	return s
}

// lose cuts the connection before the client has the server's answer.
func (s *session) lose(how cut, d time.Duration) {
	s.proc.drop()
	if how == silent {
		s.fail(s.proc.cluster.cfg.Client.Timeout, transportError(s.req, errConnLost))
		return
	}
	s.fail(d, transportError(s.req, errReset))
}

// accept runs when the request reaches the API server.
func accept(arg any) {
	s := arg.(*session)
	p := s.proc
	c := p.cluster
	d := p.latency.Duration(c.cfg.Latency) + s.late
	if s.closed {
		return
	}
	if s.inst.epoch != s.epoch {
		p.drop()
		s.fail(d, transportError(s.req, s.inst.brokenBy()))
		return
	}
	b := p.strikeOpen(p.sites.serve, s, s.inst)
	var w *apiserver.Watch
	if b.err == nil {
		c.serving = p
		w, b.err = s.inst.watch(s.req)
		c.serving = nil
	}
	c.traceWatch(s, b.err)
	if b.err != nil {
		s.fail(d+b.delay, b.err)
		return
	}
	switch b := p.strikeOpen(p.sites.reply, s, s.inst); {
	case b.crash:
		w.Stop()
		s.closed, s.hungUp = true, true
		p.crash("right after its request was carried out")
		return
	case b.cut != whole:
		w.Stop()
		s.lose(b.cut, d)
		return
	}
	s.stream = w
	s.last = c.eng.Elapsed() + s.late
	s.slot = len(s.inst.sessions)
	s.inst.sessions = append(s.inst.sessions, s)
	if t := s.req.TimeoutSeconds; t != nil && *t > 0 {
		s.expiry = c.eng.After(time.Duration(*t)*time.Second, expire, s)
	}
	if s.req.AllowWatchBookmarks {
		s.ticker = c.eng.After(bookmarkEvery, bookmark, s)
	}
	s.req = nil
	if !c.reaches(s.inst.node, p.node) {
		s.partitioned()
	}
	w.OnReady(s.pump)
	s.pump()
}

// pump sends every event that the server has for the watch.
func (s *session) pump() {
	if s.hungUp || s.cutOff || s.waiting != nil {
		return
	}
	s.answer()
	p := s.proc
	for {
		ev, ok := s.stream.Next()
		if !ok {
			break
		}
		if p.sites.watch != nil && !p.strikeWatch(s) {
			return
		}
		if s.waiting != nil {
			s.waiting.event = ev
			return
		}
		s.sendEvent(ev)
	}
	if s.stream.Ended() {
		s.hangUp(nil)
	}
}

// answer sends the header of the response, ahead of all events, to whoever waits
// for it.
func (s *session) answer() {
	if s.header {
		return
	}
	s.header = true
	if _, waits := s.sink.(opener); waits {
		d := s.proc.cluster.newDelivery()
		d.session, d.header = s, true
		s.proc.cluster.eng.After(s.arrival(), arrive, d)
	}
}

// delivery is one event of a watch on its way to the client.
type delivery struct {
	session *session
	event   apiserver.Event
	sent    time.Duration
	header  bool
	end     bool
	err     error
	next    *delivery
}

func (s *session) sendEvent(ev apiserver.Event) {
	c := s.proc.cluster
	d := c.newDelivery()
	d.session, d.event, d.sent = s, ev, c.eng.Elapsed()
	c.eng.After(s.arrival(), arrive, d)
}

// arrival is how long from now the next thing sent on the session takes: never
// less than what was sent before.
func (s *session) arrival() time.Duration {
	p := s.proc
	now := p.eng.Elapsed()
	at := max(now+p.watchLatency.Duration(p.cluster.cfg.Latency), s.last)
	s.last = at
	return at - now
}

// arrive runs when an event, or the end, reaches the client's host.
func arrive(arg any) {
	d := arg.(*delivery)
	s := d.session
	if s.closed || s.inc != s.proc.incarnation || !s.proc.alive {
		s.proc.cluster.freeDelivery(d)
		return
	}
	s.proc.proc.Deliver(receive, d)
}

// receive is arrive inside the process.
func receive(arg any) {
	d := arg.(*delivery)
	d.session.sent = d.sent
	s, ev, header, end, err := d.session, d.event, d.header, d.end, d.err
	s.proc.cluster.freeDelivery(d)
	switch {
	case s.closed:
	case header:
		s.sink.(opener).opened()
	case !end:
		s.sink.event(ev)
	case s.stream == nil:
		s.closed = true
		s.sink.refused(err)
	default:
		s.closed = true
		s.sink.ended(err)
	}
}

// fail tells the client after d that the watch was not opened.
func (s *session) fail(d time.Duration, err error) {
	c := s.proc.cluster
	dl := c.newDelivery()
	dl.session, dl.end, dl.err = s, true, err
	c.eng.After(d, arrive, dl)
}

// hangUp ends the session on the server's side; the client learns of it after
// everything that was sent before.
func (s *session) hangUp(err error) {
	if s.hungUp {
		return
	}
	s.release()
	if err != nil {
		s.proc.drop()
	}
	s.fail(s.arrival(), err)
}

// stop ends the session on the client's side.
func (s *session) stop() {
	if s.closed {
		return
	}
	s.closed = true
	s.release()
}

// release frees what the server holds for the session.
func (s *session) release() {
	if s.hungUp {
		return
	}
	s.hungUp = true
	s.expiry.Cancel()
	s.ticker.Cancel()
	s.giveUp.Cancel()
	if s.waiting != nil {
		s.stopWaiting()
		s.waiting = nil
	}
	if s.stream != nil {
		s.stream.Stop()
	}
	if s.slot >= 0 {
		all := s.inst.sessions
		last := all[len(all)-1]
		all[s.slot], last.slot = last, s.slot
		all[len(all)-1] = nil
		s.inst.sessions = all[:len(all)-1]
		s.slot = -1
	}
}

// expire ends a watch whose timeoutSeconds have passed.
func expire(arg any) { arg.(*session).hangUp(nil) }

// partitioned stops the flow; the client's keep-alive gives up after its
// timeout.
func (s *session) partitioned() {
	if s.waiting != nil { // it was on its way already
		s.stopWaiting()
		s.goOn()
	}
	s.cutOff = true
	c := s.proc.cluster
	s.giveUp = c.eng.After(c.cfg.Client.Timeout, lostConnection, s)
}

func lostConnection(arg any) { arg.(*session).hangUp(errConnLost) }

// reconnected lets the flow go on.
func (s *session) reconnected() {
	s.cutOff = false
	s.giveUp.Cancel()
	s.pump()
}

func (c *Cluster) newDelivery() *delivery {
	d := c.freeDel
	if d == nil {
		return new(delivery)
	}
	c.freeDel = d.next
	c.spareDel--
	d.next = nil
	return d
}

func (c *Cluster) freeDelivery(d *delivery) {
	if c.spareDel == spareDeliveries {
		return
	}
	c.spareDel++
	*d = delivery{next: c.freeDel}
	c.freeDel = d
}

// spareDeliveries is how many deliveries are kept for later. First lists bring
// many at once.
const spareDeliveries = 1024

// bookmark tells a quiet watch how far the history has got.
func bookmark(arg any) {
	s := arg.(*session)
	s.ticker = s.proc.eng.After(bookmarkEvery, bookmark, s)
	s.stream.Bookmark()
}
