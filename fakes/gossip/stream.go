package gossip

import (
	"errors"
	"slices"
	"time"
)

// Fault is what goes wrong on a stream, as one small number that fits into an
// error message on the wire.
type Fault uint8

// The faults.
const (
	FaultNone Fault = iota
	FaultPlain
	FaultKey
	FaultNotConfigured
)

// Errors of streams: what Join reports per peer, wrapped.
var (
	ErrRefused       = errors.New("connection refused")
	ErrTimeout       = errors.New("i/o timeout")
	ErrClosed        = errors.New("EOF")
	ErrStreamPlain   = errors.New("encryption is configured but remote state is not encrypted")
	ErrStreamKey     = errors.New("no installed keys could decrypt the message")
	ErrNotConfigured = errors.New("remote state is encrypted and encryption is not configured")
	ErrDown          = errors.New("the gossip instance is down")
)

// RemoteError is a Fault that the other side reported.
type RemoteError struct{ Err error }

func (e *RemoteError) Error() string { return "remote error: " + e.Err.Error() }

// Unwrap gives what went wrong at the other side.
func (e *RemoteError) Unwrap() error { return e.Err }

func (f Fault) err() error {
	switch f {
	case FaultPlain:
		return ErrStreamPlain
	case FaultKey:
		return ErrStreamKey
	case FaultNotConfigured:
		return ErrNotConfigured
	}
	return nil
}

// faultOf is the Fault behind the reason for a refusal.
func faultOf(refused string) Fault {
	switch refused {
	case RefusedStream:
		return FaultPlain
	case RefusedStreamKey:
		return FaultKey
	case RefusedStreamBare:
		return FaultNotConfigured
	}
	return FaultNone
}

// conn is a stream this node dialled, from the dial to the response.
type conn struct {
	n       *Node
	id      uint32
	to      Addr
	request Msg
	timer   Timer
	done    func(*conn, *Envelope, error) // called once; not if the node goes down
	then    func(error)                   // of a push/pull
}

// dial opens a stream to an endpoint and sends request on it. The dial may take
// as long as timeout; a push/pull then has TCPTimeout for the rest.
func (n *Node) dial(to Addr, timeout time.Duration, request Msg, done func(*conn, *Envelope, error)) *conn {
	n.dials++
	cn := &conn{n: n, id: n.dials, to: to, request: request, done: done}
	n.conns = append(n.conns, cn)
	cn.timer = n.after(timeout, onStreamTimeout, cn)
	e := n.c.envelope()
	e.From, e.To, e.Stream, e.Step, e.Conn = n.addr, to, true, StepDial, cn.id
	if err := n.c.env.Send(e); err != nil {
		// Not at once: nobody may be called back before he has the conn.
		cn.timer.Cancel()
		cn.timer = n.after(0, onStreamTimeout, cn)
	}
	return cn
}

func (cn *conn) finish(reply *Envelope, err error) {
	cn.timer.Cancel()
	n := cn.n
	if i := slices.Index(n.conns, cn); i >= 0 {
		n.conns = slices.Delete(n.conns, i, i+1)
		cn.done(cn, reply, err)
	}
}

func onStreamTimeout(a any) {
	cn := a.(*conn)
	if cn.n.dormant(onStreamTimeout, a) {
		return
	}
	cn.finish(nil, ErrTimeout)
}

// receiveStream handles one leg of a stream, at either end.
func (n *Node) receiveStream(e *Envelope) {
	if e.Step == StepRequest {
		n.serve(e)
		return
	}
	i := slices.IndexFunc(n.conns, func(cn *conn) bool { return cn.id == e.Conn && cn.to == e.From })
	if i < 0 {
		return // answered or timed out before
	}
	cn := n.conns[i]
	switch e.Step {
	case StepAccept:
		cn.send(e.Epoch)
	case StepRefuse:
		cn.finish(nil, ErrRefused)
	case StepClose:
		cn.finish(nil, ErrClosed)
	case StepResponse:
		cn.read(e)
	}
}

// send writes the request, encrypted with the primary of this moment.
func (cn *conn) send(epoch uint32) {
	n := cn.n
	e := n.c.envelope()
	e.From, e.To, e.Stream, e.Step = n.addr, cn.to, true, StepRequest
	e.Conn, e.Epoch, e.Head = cn.id, epoch, cn.request
	if cn.request.Kind == MsgPushPull {
		e.States = n.states()
		cn.timer.Cancel()
		cn.timer = n.after(n.cfg.TCPTimeout, onStreamTimeout, cn)
	}
	n.seal(e)
	_ = n.c.env.Send(e) // if it is lost, the timer is still there
}

// read takes the response. Whoever cannot read it has an error of his own, even
// if the response was an error message.
func (cn *conn) read(e *Envelope) {
	if refused := cn.n.openStream(e); refused != "" {
		cn.n.refuse(e, refused)
		cn.finish(nil, faultOf(refused).err())
		return
	}
	if e.Head.Kind == MsgError {
		cn.finish(nil, &RemoteError{e.Head.Fault.err()})
		return
	}
	cn.finish(e, nil)
}

// serve answers a request on a stream. The response is encoded with this node's
// own settings, so the dialler may be unable to read it. Remote state is merged
// after the local one is on its way.
func (n *Node) serve(e *Envelope) {
	if !n.labelled(e) {
		n.c.reply(e, StepClose, n.epoch)
		return
	}
	if refused := n.openStream(e); refused != "" {
		n.refuse(e, refused)
		n.respond(e, Msg{Kind: MsgError, Fault: faultOf(refused)}, nil)
		return
	}
	switch {
	case e.Head.Kind == MsgPushPull:
		n.respond(e, Msg{Kind: MsgPushPull}, n.states())
		n.merge(e.States)
	case e.Head.Kind == MsgPing && e.Head.Node == n.id:
		n.respond(e, Msg{Kind: MsgAck, Seq: e.Head.Seq}, nil)
	default:
		n.c.reply(e, StepClose, n.epoch)
	}
}

func (n *Node) respond(e *Envelope, m Msg, states []Entry) {
	r := n.c.envelope()
	r.From, r.To, r.Stream, r.Step, r.Conn = n.addr, e.From, true, StepResponse, e.Conn
	r.Head, r.States = m, states
	n.seal(r)
	_ = n.c.env.Send(r) // the dialler has a timer
}
