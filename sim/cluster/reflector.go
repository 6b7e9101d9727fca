package cluster

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// reflector keeps an informer's cache in step with the API server, the way
// client-go's Reflector does since it streams its first list:
//
//  1. open a watch that begins with the whole state (sendInitialEvents) at the
//     last known revision; if that is refused for a reason that will not go
//     away, list and then watch;
//  2. on the bookmark that ends the initial events, replace the cache; what
//     happened between two states is not seen;
//  3. apply events; remember the revision of each;
//  4. when the stream ends in order, watch again from that revision; on 410 or
//     any error, wait for the back-off and begin at 1.
//
// It is a state machine of callbacks. It lives inside one incarnation of a
// process: while the process is paused nothing reaches it, and it ends with it.
type reflector struct {
	inf     *Informer
	session *session
	phase   phase

	revision    string // of the last event or list; "" before the first
	unavailable bool   // the server does not have that revision
	relisted    bool   // this list is the second try, without a revision
	initial     map[types.NamespacedName]Object
	opened      time.Duration
	events      int
	backoff     backoff
}

type phase uint8

const (
	collecting phase = iota // initial events of a watch-list
	listing
	following
	stopped
)

// Object is an API object; those in caches are shared and read-only.
type Object = apiserver.Object

// Back-off of client-go's reflector: jittered by up to its own length.
const (
	reflectorBackoff    = 800 * time.Millisecond
	reflectorBackoffMax = 30 * time.Second
	reflectorReset      = 2 * time.Minute
)

// Watches last a random time between these two.
const (
	watchTimeoutMin = 5 * 60
	watchTimeoutMax = 10 * 60
)

// watchList is the beginning of each iteration.
func (r *reflector) watchList() {
	if r.phase == stopped {
		return
	}
	if r.inf.proc.past != nil { // streamed lists are never older than the store
		r.list()
		return
	}
	r.phase = collecting
	r.initial = map[types.NamespacedName]Object{}
	req := r.request(apiserver.WatchVerb)
	req.SendInitialEvents = &yes
	req.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	if !r.unavailable {
		req.ResourceVersion = r.revision
	}
	r.open(&req)
}

var yes = true

// watch follows the state from the last known revision.
func (r *reflector) watch() {
	if r.phase == stopped {
		return
	}
	r.phase = following
	req := r.request(apiserver.WatchVerb)
	req.ResourceVersion = r.revision
	r.open(&req)
}

func (r *reflector) open(req *apiserver.Request) {
	p := r.inf.proc
	seconds := int64(watchTimeoutMin + p.watchLatency.Intn(watchTimeoutMax-watchTimeoutMin))
	req.TimeoutSeconds = &seconds
	req.AllowWatchBookmarks = true
	r.opened, r.events = p.eng.Elapsed(), 0
	r.session = p.openWatch(req, r)
}

// list reads the state in one go.
func (r *reflector) list() {
	if r.phase == stopped {
		return
	}
	r.phase = listing
	req := r.request(apiserver.List)
	req.Shared = true
	switch {
	case r.unavailable:
	case r.revision == "":
		req.ResourceVersion = "0"
	default:
		req.ResourceVersion = r.revision
	}
	r.inf.proc.send(&req, listed, r)
}

func listed(req *request) {
	r := req.arg.(*reflector)
	if r.phase == stopped {
		return
	}
	if err := req.err; err != nil {
		if expired(err) && !r.relisted {
			r.relisted, r.unavailable = true, true
			r.list()
			return
		}
		r.relisted = false
		r.again(err)
		return
	}
	r.relisted, r.unavailable = false, false
	r.inf.replace(req.resp.Items)
	r.revision = req.resp.List.ResourceVersion
	r.watch()
}

// request is the part that all requests of the informer have in common.
func (r *reflector) request(v apiserver.Verb) apiserver.Request {
	inf := r.inf
	return apiserver.Request{
		Verb: v, Resource: inf.kind.resource,
		Namespace: inf.namespace, Name: "",
		Fields: inf.fields, Labels: inf.selector,
		ManagedFields: inf.proc.cluster.cfg.ManagedFields,
	}
}

// refused implements sink.
func (r *reflector) refused(err error) {
	switch {
	case r.phase == stopped:
	case retriable(err):
		r.later(err, r.reopen)
	case r.phase == collecting && expired(err):
		r.unavailable = true
		r.watchList()
	case r.phase == collecting:
		r.list()
	default:
		r.again(err)
	}
}

// reopen opens the same kind of watch once more.
func (r *reflector) reopen() {
	if r.phase == collecting {
		r.watchList()
		return
	}
	r.watch()
}

// event implements sink.
func (r *reflector) event(ev apiserver.Event) {
	if r.phase == stopped {
		return
	}
	r.events++
	if ev.Type == watch.Error {
		r.session.stop()
		r.failed(&apierrors.StatusError{ErrStatus: *ev.Status})
		return
	}
	if r.phase == collecting {
		r.collect(ev)
		return
	}
	r.revision = ev.Object.GetResourceVersion()
	if ev.Type != watch.Bookmark {
		r.inf.proc.cluster.traceEvent(r.inf, ev)
	}
	r.inf.apply(ev)
}

// collect gathers initial events until the bookmark that ends them.
func (r *reflector) collect(ev apiserver.Event) {
	switch ev.Type {
	case watch.Bookmark:
		if ev.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			return
		}
		items := make([]Object, 0, len(r.initial))
		for _, o := range r.initial { // replace sorts them
			items = append(items, o)
		}
		r.initial = nil
		r.unavailable = false
		r.phase = following
		r.revision = ev.Object.GetResourceVersion()
		r.inf.replace(items)
	case watch.Deleted:
		delete(r.initial, nameOf(ev.Object))
	default:
		r.initial[nameOf(ev.Object)] = ev.Object
	}
}

// failed handles an ERROR event.
func (r *reflector) failed(err error) {
	switch {
	case retriable(err):
		r.later(err, r.reopen)
	case r.phase == collecting && expired(err):
		r.unavailable = true
		r.watchList()
	case r.phase == collecting:
		r.list()
	default:
		r.again(err)
	}
}

// ended implements sink. client-go takes a broken connection for an end of the
// stream: it cannot tell them apart.
func (r *reflector) ended(error) {
	short := r.inf.proc.eng.Elapsed()-r.opened < time.Second && r.events == 0
	switch {
	case r.phase == stopped:
	case r.phase == collecting && short:
		r.list()
	case r.phase == collecting:
		r.watchList()
	case short:
		r.again(nil)
	default:
		r.watch()
	}
}

// again begins the next iteration after the back-off.
func (r *reflector) again(err error) { r.later(err, r.watchList) }

// later runs next after the back-off, inside the process.
func (r *reflector) later(err error, next func()) {
	p := r.inf.proc
	d := r.backoff.next(p)
	if err != nil {
		p.cluster.traceBackoff(r, err, d)
	}
	p.proc.After(d, func(any) {
		if r.phase != stopped {
			next()
		}
	}, nil)
}

func (r *reflector) stop() {
	r.phase = stopped
	if r.session != nil {
		r.session.stop()
	}
}

// backoff is wait.Backoff with DelayWithReset.
type backoff struct {
	step int
	last time.Duration
}

func (b *backoff) next(p *Process) time.Duration {
	now := p.eng.Elapsed()
	if now-b.last > reflectorReset {
		b.step = 0
	}
	b.last = now
	d := min(reflectorBackoff<<min(b.step, 16), reflectorBackoffMax)
	b.step++
	return d + time.Duration(p.stream("backoff").Intn(int(d/time.Millisecond)))*time.Millisecond
}

// retriable says that the server is overloaded or away, as client-go sees it.
func retriable(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// expired says that the server cannot serve the revision asked for.
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

func nameOf(o Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
