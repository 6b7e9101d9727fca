package apiserver

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Server is one API server instance over a store. It is safe for concurrent use.
type Server struct {
	store *Store
	name  string
	view  *store.View
	rest  atomic.Pointer[atRest] // nil as long as nothing was ever sealed in the store
	ghost atomic.Pointer[func() *Server]

	mu      sync.Mutex
	watches map[*Watch]struct{}
	opened  uint64
}

// NewServer returns an API server over st. Any number may share one store: each
// has its own view of it (see [Server.Freeze]) and its own watches.
func NewServer(st *Store, name string) *Server {
	s := &Server{store: st, name: name, view: st.data.View(), watches: map[*Watch]struct{}{}}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.servers = append(st.servers, s)
	if st.sealing {
		s.rest.Store(newAtRest(s))
	}
	return s
}

// New returns a store and one server over it, for tests that need no more.
func New(opts Options) *Server { return NewServer(NewStore(opts), "apiserver") }

// Store returns the store behind the server.
func (s *Server) Store() *Store { return s.store }

// Name returns the name given to NewServer.
func (s *Server) Name() string { return s.name }

// Freeze stops the server's watch cache at what it holds now. Until SetVisible or
// Live, reads at resourceVersion "0" show that state and watches wait. Writes and
// all other reads go to the store and are not affected, as in a real cluster.
func (s *Server) Freeze() { s.view.Freeze() }

// SetVisible stops the server's watch cache at a revision, or moves it there. It
// does not go back. A cache cannot lag behind the end of the store's history.
func (s *Server) SetVisible(revision uint64) { s.view.Hold(revision) }

// Live lets the server's watch cache catch up and follow the store from now on.
func (s *Server) Live() { s.view.Live() }

// Visible returns the revision of the server's watch cache.
func (s *Server) Visible() uint64 { return s.view.Revision() }

// Restart ends every open watch, as the end of the process does. The store is
// not touched: a real restart also loses the watch cache, which
// [Store.ForgetHistory] does for all servers at once.
func (s *Server) Restart() {
	for _, w := range s.open() {
		w.end()
	}
}

// Watching returns how many watches are open.
func (s *Server) Watching() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

// Call implements Caller: it is Do.
func (s *Server) Call(_ context.Context, req *Request) (*Response, error) { return s.Do(req) }

// OpenWatch implements Caller: it is Watch.
func (s *Server) OpenWatch(_ context.Context, req *Request) (Stream, error) {
	w, err := s.Watch(req)
	if err != nil {
		return nil, err
	}
	return w, nil
}
