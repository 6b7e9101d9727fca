package kms

import (
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/kms/pkg/service"
)

// Conn is a client's gRPC channel to a plugin, as an API server has one for each
// provider: every call waits until the channel is connected, and not longer than the
// timeout for everything. A call answers at once and says how long it takes.
//
// A channel that has lost its peer connects again with the next call. If nobody
// listens then, it tries again and again, with pauses that grow from one second to two
// minutes; a plugin that comes back meanwhile is not noticed before the next attempt.
// So a call made while the channel is down fails after the timeout, unless somebody
// listens by now and the next attempt comes in time. Who starts to listen while the
// call waits is not seen by it, but by the next.
type Conn struct {
	sockets *Sockets
	path    string
	timeout time.Duration
	random  io.Reader
	closed  bool

	peer     uint64 // the number of the listener, 0 when not connected
	failures int    // attempts since the peer was lost
	next     time.Time
}

// gRPC's defaults for the pause between attempts to connect: a second, growing by 1.6
// to two minutes, give or take a fifth.
const (
	backoffBase = time.Second
	backoffMax  = 2 * time.Minute
)

// Errors of a channel, in the words of gRPC.
var (
	ErrDeadlineExceeded = errors.New("rpc error: code = DeadlineExceeded desc = context deadline exceeded")
	ErrClosing          = errors.New("rpc error: code = Canceled desc = grpc: the client connection is closing")
)

// Timeout is the longest that a call takes.
func (c *Conn) Timeout() time.Duration { return c.timeout }

// Close ends the channel: calls fail from now on.
func (c *Conn) Close() { c.closed = true }

// Status calls the plugin.
func (c *Conn) Status() (*service.StatusResponse, time.Duration, error) {
	return call(c, Answerer.AnswerStatus)
}

// Encrypt calls the plugin.
func (c *Conn) Encrypt(uid string, data []byte) (*service.EncryptResponse, time.Duration, error) {
	return call(c, func(a Answerer) (*service.EncryptResponse, time.Duration, error) { return a.AnswerEncrypt(uid, data) })
}

// Decrypt calls the plugin.
func (c *Conn) Decrypt(uid string, req *service.DecryptRequest) ([]byte, time.Duration, error) {
	return call(c, func(a Answerer) ([]byte, time.Duration, error) { return a.AnswerDecrypt(uid, req) })
}

// call makes a call through the channel.
func call[R any](c *Conn, make func(Answerer) (R, time.Duration, error)) (r R, took time.Duration, err error) {
	var none R
	if c.closed {
		return none, 0, ErrClosing
	}
	server, waits := c.connect()
	if server == nil {
		return none, c.timeout, ErrDeadlineExceeded
	}
	r, took, err = make(server)
	if took += waits; took >= c.timeout {
		return none, c.timeout, ErrDeadlineExceeded // the plugin does its work all the same
	}
	if err != nil {
		return none, took, fmt.Errorf("rpc error: code = Unknown desc = %w", err)
	}
	return r, took, nil
}

// connect returns who listens, and after how long the channel is connected to him; nil
// if it is not in time.
func (c *Conn) connect() (Answerer, time.Duration) {
	now := c.sockets.timers.Now()
	l := c.sockets.listening[c.path]
	if l != nil && l.number == c.peer {
		return l.server, 0
	}
	c.peer = 0
	if c.failures == 0 {
		c.next = now // the peer is lost, or there was none: connect at once
	}
	for !c.next.After(now) {
		if l != nil && !l.since.After(c.next) {
			return c.connected(l), 0
		}
		c.next = c.next.Add(c.backoff())
		c.failures++
	}
	if waits := c.next.Sub(now); l != nil && waits < c.timeout {
		return c.connected(l), waits
	}
	return nil, 0
}

func (c *Conn) connected(l *listener) Answerer {
	c.peer, c.failures = l.number, 0
	return l.server
}

// backoff is the pause after an attempt to connect that failed.
func (c *Conn) backoff() time.Duration {
	d := backoffBase
	for range c.failures {
		if d = d * 8 / 5; d >= backoffMax {
			d = backoffMax
			break
		}
	}
	var b [1]byte
	if _, err := io.ReadFull(c.random, b[:]); err != nil {
		return d // without jitter
	}
	return d + d*time.Duration(int(b[0])-128)/640
}
