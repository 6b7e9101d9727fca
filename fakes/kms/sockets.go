package kms

import (
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/kms/pkg/util"
)

// Sockets are the unix sockets of one machine: on each at most one plugin listens.
// They are used on one goroutine.
type Sockets struct {
	timers    Timers
	listening map[string]*listener // by path
	opened    uint64
}

// listener is one life of a listening socket.
type listener struct {
	server Answerer
	since  time.Time
	number uint64
}

// NewSockets returns the sockets of a machine on which no plugin runs.
func NewSockets(t Timers) *Sockets {
	return &Sockets{timers: t, listening: map[string]*listener{}}
}

// ErrAddressInUse says that somebody else listens on a socket.
var ErrAddressInUse = errors.New("bind: address already in use")

// Listen lets a plugin serve an endpoint, unix:///path or unix:///@name. It fails with
// [ErrAddressInUse] if there is one already. A plugin that has just started listens
// anew: connections to the one before do not live on.
func (s *Sockets) Listen(endpoint string, a Answerer) error {
	path, err := util.ParseEndpoint(endpoint)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", endpoint, err)
	}
	if s.listening[path] != nil {
		return fmt.Errorf("listen on %s: %w", path, ErrAddressInUse)
	}
	s.opened++
	s.listening[path] = &listener{server: a, since: s.timers.Now(), number: s.opened}
	return nil
}

// Close is the end of the plugin that serves an endpoint, if there is one.
// Connections to it break.
func (s *Sockets) Close(endpoint string) {
	if path, err := util.ParseEndpoint(endpoint); err == nil {
		delete(s.listening, path)
	}
}

// CloseAll is the end of all plugins of the machine.
func (s *Sockets) CloseAll() { clear(s.listening) }

// Listening reports whether a plugin serves the endpoint.
func (s *Sockets) Listening(endpoint string) bool {
	path, err := util.ParseEndpoint(endpoint)
	return err == nil && s.listening[path] != nil
}

// Dial returns a channel to whoever listens on an endpoint, now or later. It does not
// connect: the first call does. Each call takes at most timeout. The back-off between
// attempts to connect is spread by bytes from random.
func (s *Sockets) Dial(endpoint string, timeout time.Duration, random io.Reader) (*Conn, error) {
	path, err := util.ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	return &Conn{sockets: s, path: path, timeout: timeout, random: random}, nil
}
