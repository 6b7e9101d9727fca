package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Informer is the cache of one set of objects in one incarnation of a process.
// Its objects are shared with the API server and with all other caches: nobody
// may change them.
type Informer struct {
	proc      *Process
	kind      *kind
	namespace string
	name      string
	selector  labels.Selector
	chosen    fields.Selector // by the watch
	fields    fields.Selector // these and metadata.name, if name is set

	reflector reflector
	items     objects
	synced    bool
	waiters   []*engine.Wait
	handlers  []handler
}

// handler receives the changes of an informer. A nil old is an addition, a nil
// new a deletion; first says that the object came with the first list.
type handler interface {
	changed(old, new Object, first bool)
}

// scope narrows an informer.
type scope struct {
	namespace, name string
	selector        labels.Selector
	fields          fields.Selector
}

func newInformer(p *Process, k *kind, s scope) *Informer {
	inf := &Informer{
		proc: p, kind: k, namespace: s.namespace, name: s.name, selector: s.selector, chosen: s.fields, fields: s.fields,
	}
	if s.name != "" {
		inf.fields = fields.OneTermEqualSelector("metadata.name", s.name)
		if s.fields != nil {
			inf.fields = fields.AndSelectors(inf.fields, s.fields)
		}
	}
	inf.reflector.inf = inf
	return inf
}

// equal reports whether the informer has just that scope.
func (i *Informer) equal(s scope) bool {
	return i.namespace == s.namespace && i.name == s.name && selectorText(i.selector) == selectorText(s.selector) && selectorText(i.chosen) == selectorText(s.fields)
}

func selectorText(s interface{ String() string }) string {
	if s == nil {
		return ""
	}
	return s.String()
}

// apply takes over one event of the watch.
func (i *Informer) apply(ev apiserver.Event) {
	if ev.Type == watch.Bookmark {
		return
	}
	if ev.Type == watch.Deleted {
		if i.items.remove(nameOf(ev.Object)) != nil {
			i.tell(ev.Object, nil, false)
		}
		return
	}
	o := i.kind.convert(ev.Object)
	i.tell(i.items.set(o), o, false)
}

// replace makes the cache equal to a list. Handlers see the difference, not the
// steps that led to it.
func (i *Informer) replace(list []Object) {
	slices.SortFunc(list, compare)
	i.proc.cluster.traceList(i, len(list))
	before := i.items.all()
	first := !i.synced
	for n, o := range list {
		list[n] = i.kind.convert(o)
	}
	i.items.reset(list)
	at := 0
	for _, o := range list {
		for at < len(before) && compare(before[at], o) < 0 {
			at++
		}
		var old Object
		if at < len(before) && compare(before[at], o) == 0 {
			old = before[at]
		}
		i.tell(old, o, first)
	}
	for _, o := range before {
		if i.items.get(nameOf(o)) == nil {
			i.tell(o, nil, false)
		}
	}
	if first {
		i.synced = true
		for _, w := range i.waiters {
			w.Done()
		}
		i.waiters = nil
	}
}

func (i *Informer) tell(old, new Object, first bool) {
	for _, h := range i.handlers {
		h.changed(old, new, first)
	}
}

// handle adds a handler, which is told of everything that is there already.
func (i *Informer) handle(h handler) {
	i.handlers = append(i.handlers, h)
	for _, o := range i.items.all() {
		h.changed(nil, o, true)
	}
}
