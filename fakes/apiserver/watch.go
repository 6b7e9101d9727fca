package apiserver

// Watch is an open watch on a [Server].
type Watch struct{}

func (s *Server) watch(req *Request) (*Watch, error) { return &Watch{}, nil }
func (s *Server) do(req *Request) (*Response, error) { return &Response{}, nil }

// Next implements Stream.
func (w *Watch) Next() (Event, bool) { return Event{}, false }

// Ended implements Stream.
func (w *Watch) Ended() bool { return false }

// OnReady implements Stream.
func (w *Watch) OnReady(fn func()) {}

// Stop implements Stream.
func (w *Watch) Stop() {}
