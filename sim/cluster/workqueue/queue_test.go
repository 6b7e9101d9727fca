package workqueue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

func req(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// diary is a queue whose ready requests are worked on at once, unless busy says
// that a request is left unfinished; it writes down what happens when.
type diary struct {
	eng   *engine.Engine
	queue *Queue
	lines []string
	held  map[string]*Item
	busy  map[string]bool
	fail  map[string]bool
}

// addAfter adds a request for later.
func (d *diary) addAfter(r reconcile.Request, after time.Duration) { d.queue.AddAfter(r, after, 0) }

func newDiary(o Options) *diary {
	d := &diary{eng: engine.New(engine.Config{Source: engine.NewSeed(1)}), held: map[string]*Item{}, busy: map[string]bool{}, fail: map[string]bool{}}
	d.queue = New(d.eng, o, func() { d.eng.After(0, func(any) { d.drain() }, nil) })
	return d
}

func (d *diary) drain() {
	for it := d.queue.Get(); it != nil; it = d.queue.Get() {
		name := it.Request.Name
		d.lines = append(d.lines, fmt.Sprintf("%v %s", d.eng.Elapsed(), name))
		switch {
		case d.busy[name]:
			d.held[name] = it
			continue
		case d.fail[name]:
			d.queue.Retry(it)
		default:
			d.queue.Forget(it)
		}
		d.queue.Done(it)
	}
}

func (d *diary) at(t time.Duration, f func()) { d.eng.After(t, func(any) { f() }, nil) }

func TestQueue(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name    string
		options Options
		script  func(d *diary)
		want    string
	}{
		{
			name: "a request added many times is handed out once",
			script: func(d *diary) {
				for range 3 {
					d.queue.Add(req("a"), 0)
				}
				d.queue.Add(req("b"), 0)
			},
			want: "0s a, 0s b",
		},
		{
			name: "higher priority goes first, and adding again can raise it",
			script: func(d *diary) {
				d.queue.Add(req("low"), -100)
				d.queue.Add(req("raised"), -100)
				d.queue.Add(req("normal"), 0)
				d.queue.Add(req("raised"), 0)
			},
			want: "0s normal, 0s raised, 0s low",
		},
		{
			name: "a request in work waits until it is done",
			script: func(d *diary) {
				d.busy["a"] = true
				d.queue.Add(req("a"), 0)
				d.at(1*s, func() { d.queue.Add(req("a"), 0) })
				d.at(2*s, func() { d.busy["a"] = false; d.queue.Done(d.held["a"]) })
			},
			want: "0s a, 2s a",
		},
		{
			name: "an add without delay makes a waiting request ready, once",
			script: func(d *diary) {
				d.addAfter(req("a"), 5*s)
				d.at(1*s, func() { d.queue.Add(req("a"), 0) })
			},
			want: "1s a",
		},
		{
			name: "of two delays the earlier counts",
			script: func(d *diary) {
				d.addAfter(req("a"), 5*s)
				d.addAfter(req("a"), 2*s)
				d.addAfter(req("a"), 9*s)
			},
			want: "2s a",
		},
		{
			name: "failures are retried after base, 2 base, 4 base, up to the maximum",
			options: Options{
				Base: 5 * s, Max: 60 * s,
			},
			script: func(d *diary) {
				d.fail["a"] = true
				d.queue.Add(req("a"), 0)
				d.at(200*s, func() { d.fail["a"] = false })
			},
			want: "0s a, 5s a, 15s a, 35s a, 1m15s a, 2m15s a, 3m15s a, 4m15s a",
		},
		{
			name:    "forgetting begins again at base",
			options: Options{Base: s, Max: 60 * s},
			script: func(d *diary) {
				d.fail["a"] = true
				d.queue.Add(req("a"), 0)
				d.at(2*s, func() { d.fail["a"] = false })
				d.at(10*s, func() { d.fail["a"] = true; d.queue.Add(req("a"), 0) })
				d.at(12*s, func() { d.fail["a"] = false })
			},
			want: "0s a, 1s a, 3s a, 10s a, 11s a, 13s a",
		},
		{
			name: "after a shutdown nothing is handed out",
			script: func(d *diary) {
				d.addAfter(req("a"), s)
				d.queue.Add(req("b"), 0)
				d.queue.Shutdown()
				d.queue.Add(req("c"), 0)
			},
			want: "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDiary(tt.options)
			tt.script(d)
			d.eng.Run()
			if diff := cmp.Diff(tt.want, strings.Join(d.lines, ", ")); diff != "" {
				t.Errorf("work done (-want +got):\n%s", diff)
			}
			if n := d.queue.items.len(); n != 0 {
				t.Errorf("%d items left in the queue", n)
			}
		})
	}
}
