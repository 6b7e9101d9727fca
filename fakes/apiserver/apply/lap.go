package apply

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// lap is a mark of versions whose owners are those of a version before, but for
// times.
type lap struct {
	mark store.Mark   // of that version, of a run
	obj  store.Object // that version

	// writer is who made the lap's versions, at the time that their marks have;
	// others are who wrote since obj before that, in order.
	writer *run
	others []stamp

	last answer
}

// stamp is the time of the last write of a run's manager.
type stamp struct {
	run *run
	at  int64
}

// latest returns the run that the version with the mark m belongs to, or that its
// lap began after.
func latest(m store.Mark) *run {
	switch by := m.By.(type) {
	case *run:
		return by
	case *lap:
		return by.mark.By.(*run)
	default:
		return nil
	}
}

// again returns the lap that w is part of, or begins: if the latest run of w's
// manager wrote at least where w writes, and no run after it did, everything that
// w writes was w's manager's alone already, and stays so. Nil if that is not so.
// Last is the latest run of all, and over.
func (l *Ledger) again(before store.Mark, last *run, w *Write) *lap {
	if w.Sent != nil || !last.clear {
		return nil
	}
	places, replaced, clear := w.Target.Touched(w.Live, w.Object, l.places[:0])
	l.places = places[:0]
	if !clear || !replaced || len(places) == 0 {
		return nil
	}
	r := last.ownerOf(places, w)
	if r == nil {
		return nil
	}
	current, ok := before.By.(*lap)
	switch {
	case !ok:
		return &lap{mark: before, obj: w.Live, writer: r}
	case current.writer == r:
		return current
	}
	next := &lap{mark: current.mark, obj: current.obj, writer: r, others: make([]stamp, 0, len(current.others)+1)}
	for _, s := range current.others {
		if s.run != r {
			next.others = append(next.others, s)
		}
	}
	next.others = append(next.others, stamp{run: current.writer, at: before.At})
	return next
}

// finish notes where a run wrote, whose last version was end if it is not over yet.
func (l *Ledger) finish(r *run, end store.Object) {
	if r.over {
		return
	}
	r.over = true
	if r.live == nil || r.sent != nil {
		return
	}
	places, _, clear := r.target.Touched(r.live, end, l.places[:0])
	l.places = places[:0]
	if clear {
		r.clear, r.touched = true, slices.Clone(places)
	}
}

// ownerOf returns the run, from r back, by w's manager that has written in all the
// places, if none after it has in any.
func (r *run) ownerOf(places []shape.Place, w *Write) *run {
	for r != nil && r.clear {
		if r.target == w.Target && r.name == w.Name {
			if contains(r.touched, places) {
				return r
			}
			return nil
		}
		if overlap(r.touched, places) {
			return nil
		}
		r = r.previous
	}
	return nil
}

// contains reports whether all of part are in places; both are in order.
func contains(places, part []shape.Place) bool {
	for _, p := range part {
		i, ok := slices.BinarySearch(places, p)
		if !ok {
			return false
		}
		places = places[i+1:]
	}
	return true
}

func overlap(a, b []shape.Place) bool {
	for _, p := range a {
		if _, ok := slices.BinarySearch(b, p); ok {
			return true
		}
	}
	return false
}

// stamped works out the owners of a version of a lap, obj.
func (l *Ledger) stamped(p *lap, at int64, obj store.Object) *Owners {
	if p.last.obj == obj && p.last.at == at {
		return p.last.owners
	}
	owners := l.owners(p.mark, p.obj)
	for _, s := range append(p.others[:len(p.others):len(p.others)], stamp{run: p.writer, at: at}) {
		owners = s.run.target.Stamp(owners, s.run.name, metav1.NewTime(time.Unix(s.at, 0).UTC()))
	}
	p.last = answer{obj: obj, at: at, owners: owners}
	return owners
}
