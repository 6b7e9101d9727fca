package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/live"
)

// visitor is the name of a client in the run: the program of its User-Agent, "kubectl"
// of "kubectl/v1.37.2 (linux/amd64)".
func visitor(req *apiserver.Request) string {
	name, _, _ := strings.Cut(req.UserAgent, "/")
	name, _, _ = strings.Cut(name, " ")
	if name == "" {
		return "somebody"
	}
	return name
}

// connection is what happens to the connection of a request.
type connection struct {
	http.ResponseWriter
	control *http.ResponseController
	watch   bool
	broken  bool // by a fault: there is no answer
}

type connectionKey struct{}

// stalled is how long the reader of a watch may take nothing before it is cut off.
const stalled = time.Minute

// connection lets faults break connections, counts watches, and cuts off who does not
// read them.
func (s *Server) connection(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &connection{ResponseWriter: w, control: http.NewResponseController(w)}
		next.ServeHTTP(c, r.WithContext(context.WithValue(r.Context(), connectionKey{}, &opening{c, s})))
		if c.watch {
			s.watches.Add(-1)
		}
	})
}

// opening is what the API path tells about the request of a connection.
type opening struct {
	*connection
	server *Server
}

// WriteHeader implements http.ResponseWriter.
func (c *connection) WriteHeader(code int) {
	if c.broken {
		panic(http.ErrAbortHandler) // net/http resets the stream
	}
	c.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (c *connection) Write(p []byte) (int, error) {
	if c.broken {
		panic(http.ErrAbortHandler)
	}
	if !c.watch {
		return c.ResponseWriter.Write(p)
	}
	_ = c.control.SetWriteDeadline(time.Now().Add(stalled)) // where there is none, readers may stall
	n, err := c.ResponseWriter.Write(p)
	if err == nil {
		err = c.control.Flush()
	}
	_ = c.control.SetWriteDeadline(time.Time{}) // the deadline of HTTP/2 strikes idle streams too
	return n, err
}

// Unwrap is for http.ResponseController.
func (c *connection) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// cutting is a caller that breaks the connection when no API server answers.
type cutting struct{ apiserver.Caller }

// Call implements apiserver.Caller.
func (c *cutting) Call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	resp, err := c.Caller.Call(ctx, req)
	return resp, told(ctx, err)
}

// OpenWatch implements apiserver.Caller.
func (c *cutting) OpenWatch(ctx context.Context, req *apiserver.Request) (apiserver.Stream, error) {
	stream, err := c.Caller.OpenWatch(ctx, req)
	if o, ok := ctx.Value(connectionKey{}).(*opening); ok && err == nil {
		o.watch = true
		o.server.watches.Add(1)
	}
	return stream, told(ctx, err)
}

// told is the error as the client is told: one that no API server has answered breaks
// the connection.
func told(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	switch {
	case err == nil, errors.As(err, &status):
		return err
	case errors.Is(err, live.ErrEnded):
		return apierrors.NewServiceUnavailable(err.Error())
	}
	if o, ok := ctx.Value(connectionKey{}).(*opening); ok {
		o.broken = true
	}
	return apierrors.NewServiceUnavailable(err.Error())
}
