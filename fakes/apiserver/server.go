package apiserver

import "context"

// Store is the etcd of a fake cluster, with the kinds it knows.
type Store struct{ opts Options }

// NewStore returns an empty store with the namespaces default, kube-system,
// kube-public and kube-node-lease.
func NewStore(opts Options) *Store { return &Store{opts: opts} }

// Server is one API server instance over a store.
type Server struct {
	store *Store
	name  string
}

// NewServer returns an API server over st. Any number may share one store. The
// name appears in traces only.
func NewServer(st *Store, name string) *Server { return &Server{store: st, name: name} }

// Do answers a request other than a watch. The error is always an
// *apierrors.StatusError with the reason, code, message and details of a real
// server.
func (s *Server) Do(req *Request) (*Response, error) { return s.do(req) }

// Watch opens a watch on the resource, namespace and name of req.
func (s *Server) Watch(req *Request) (*Watch, error) { return s.watch(req) }

// Call is Do.
func (s *Server) Call(_ context.Context, req *Request) (*Response, error) { return s.Do(req) }

// OpenWatch is Watch.
func (s *Server) OpenWatch(_ context.Context, req *Request) (Stream, error) {
	w, err := s.Watch(req)
	if err != nil {
		return nil, err
	}
	return w, nil
}
