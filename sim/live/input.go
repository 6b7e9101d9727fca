package live

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// Input is one thing that came from outside: exactly one of Request, Inject and Clear
// is set. A live run and its replay do the same with it.
type Input struct {
	At      time.Duration  `json:"at"` // virtual, in nanoseconds since the start of the run
	Visitor string         `json:"visitor,omitempty"`
	Request *Request       `json:"request,omitempty"`
	Inject  *cluster.Fault `json:"inject,omitempty"`
	Clear   *int           `json:"clear,omitempty"`

	// What came of it.
	entered  bool
	response *apiserver.Response
	watch    *apiserver.Watch
	fault    cluster.ActiveFault
	cleared  bool
	err      error
}

// apply lets the input enter the run. The engine stands between two events.
func (in *Input) apply(c *cluster.Cluster) {
	eng := c.Engine()
	eng.After(0, func(any) { in.enter(c) }, nil)
	for !in.entered && eng.Err() == nil {
		eng.RunTo(eng.Elapsed()) // may be stopped on the way, at the end of a story
	}
}

// enter runs as an event of the engine. A request that makes the API server panic is
// answered with an error, as net/http and a real API server do.
func (in *Input) enter(c *cluster.Cluster) {
	in.entered = true
	defer func() {
		if r := recover(); r != nil {
			in.err = apierrors.NewInternalError(fmt.Errorf("the fake API server has a mistake: panic: %v\n%s", r, debug.Stack()))
		}
	}()
	switch {
	case in.Request != nil && in.Request.Verb == apiserver.WatchVerb:
		in.watch, in.err = c.Visitor(in.Visitor).OpenWatch(&in.Request.Request)
	case in.Request != nil:
		in.response, in.err = c.Visitor(in.Visitor).Call(&in.Request.Request)
	case in.Inject != nil:
		in.fault, in.err = c.Inject(*in.Inject)
	case in.Clear != nil:
		in.cleared = c.Clear(*in.Clear)
	}
}

// enter hands an input to the goroutine of Run.
func (d *Driver) enter(ctx context.Context, in *Input) error {
	return d.post(ctx, func() {
		if in.Request != nil {
			d.requests++
		}
		in.At = d.eng.Elapsed()
		if d.journal != nil {
			if err := d.journal.write(in); err != nil {
				d.failed = fmt.Errorf("write the journal: %w", err)
			}
		}
		in.apply(d.c)
		d.now.Store(int64(d.eng.Elapsed()))
		if !in.entered {
			in.err = ErrEnded
		}
	})
}

// Caller returns the API path of clients by the name of visitor.
func (d *Driver) Caller(visitor func(*apiserver.Request) string) apiserver.Caller {
	return caller{d, visitor}
}

type caller struct {
	d       *Driver
	visitor func(*apiserver.Request) string
}

// Call implements apiserver.Caller. It may be called by several goroutines.
func (c caller) Call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	in := &Input{Visitor: c.visitor(req), Request: &Request{*req}}
	if err := c.d.enter(ctx, in); err != nil {
		return nil, err
	}
	return in.response, in.err
}

// OpenWatch implements apiserver.Caller.
func (c caller) OpenWatch(ctx context.Context, req *apiserver.Request) (apiserver.Stream, error) {
	in := &Input{Visitor: c.visitor(req), Request: &Request{*req}}
	in.Request.Verb = apiserver.WatchVerb
	if err := c.d.enter(ctx, in); err != nil {
		return nil, err
	}
	if in.err != nil {
		return nil, in.err
	}
	return in.watch, nil
}

// Request is a request that can be kept: as JSON it holds all that its Go value does,
// objects included.
type Request struct{ apiserver.Request }

// kept is the form of a Request in a journal.
type kept struct {
	apiserver.Request
	Type    schema.GroupVersionKind `json:"type,omitzero"`
	Content json.RawMessage         `json:"content,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (r Request) MarshalJSON() ([]byte, error) {
	k := kept{Request: r.Request}
	if k.Labels != nil {
		k.LabelSelector, k.Labels = k.Labels.String(), nil
	}
	if k.Fields != nil {
		k.FieldSelector, k.Fields = k.Fields.String(), nil
	}
	if k.Object != nil {
		content, err := json.Marshal(k.Object)
		if err != nil {
			return nil, fmt.Errorf("keep the object of a request: %w", err)
		}
		k.Type, k.Content, k.Object = k.Object.GetObjectKind().GroupVersionKind(), content, nil
		if k.Type.Empty() {
			k.Type.Kind = reflect.TypeOf(r.Object).Elem().Name()
		}
	}
	return json.Marshal(k)
}

// restore reads a request as MarshalJSON writes it.
func (r *Request) restore(data []byte, scheme *runtime.Scheme) error {
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	r.Request = k.Request
	if k.Content == nil {
		return nil
	}
	if k.Type.Version == "" {
		k.Type.Group, k.Type.Version = k.Resource.Group, k.Resource.Version
	}
	var into runtime.Object = &unstructured.Unstructured{}
	if scheme.Recognizes(k.Type) {
		typed, err := scheme.New(k.Type)
		if err != nil {
			return fmt.Errorf("restore the object of a request: %w", err)
		}
		into = typed
	}
	if err := json.Unmarshal(k.Content, into); err != nil {
		return fmt.Errorf("restore the object of a request: %w", err)
	}
	object, ok := into.(apiserver.Object)
	if !ok {
		return fmt.Errorf("restore the object of a request: %T has no object metadata", into)
	}
	r.Object = object
	return nil
}
