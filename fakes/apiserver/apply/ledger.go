package apply

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// A Target is what writes are made to. It says who owns what after a write, as
// [Manager.Update] does, of objects as they are stored. Targets are compared.
type Target interface {
	Update(o *Owners, live, obj store.Object, name string, now metav1.Time) *Owners

	// Onward reports whether writes to the target from a over b to c leave the
	// same owners as one from a to c; see shape.Shape.Onward.
	Onward(a, b, c store.Object) bool

	// Touched tells where a and b differ; see shape.Shape.Touched.
	Touched(a, b store.Object, places []shape.Place) (touched []shape.Place, replaced, clear bool)

	// Stamp returns owners that are o, of whom name last wrote to the target now.
	Stamp(o *Owners, name string, now metav1.Time) *Owners
}

// A Write is one that is no apply.
type Write struct {
	Target Target
	Name   string       // of the manager
	Live   store.Object // what was stored before; nil if nothing
	Object store.Object // what is stored now

	// Sent is what the write asked for, if that is not what was stored.
	Sent store.Object

	Time metav1.Time
}

// A Ledger notes writes, and works out who owns what when it is asked. What it
// knows of a version is in the version's mark:
//
//	nothing    nobody owns anything, and it stays so
//	*Owners    worked out
//	*birth     all of it is one manager's, who has made it
//	*run       one manager's writes, one after the other, since another version
//	*lap       as of a version before, whose managers have written again what they
//	           own: the user who counts up a number in the spec and the
//	           controller that counts after it in the status, for ever
//	*sealed    as of a version before, which untracked writes have changed
//
// Notes refer to earlier versions. As long as the chain of them is short that is
// all; when it grows long, its beginning is worked out.
//
// The zero Ledger is ready for use, from several goroutines. Marks of one ledger
// must not be given to another.
type Ledger struct {
	mu     sync.Mutex
	births map[birth]*birth
	born   map[store.Object]answer // what was asked for of new objects
	places []shape.Place           // scratch
}

// bornMax is the number of answers for new objects that are kept.
const bornMax = 1 << 14

// birth is a mark that all objects share that name has made by writes to target
// alone.
type birth struct {
	target Target
	name   string
}

// chainMax is the number of notes on which one version may depend.
const chainMax = 16

// linksMax is how far back a run is looked for that a write repeats. So few later
// managers are no reason yet to forget who made it.
const linksMax = managersMax - 2

// run is a number of writes by one manager to one target, from one state to
// another that the mark's version is. It does not matter what came between.
type run struct {
	before store.Mark   // of the version before, if base is not known
	end    store.Object // that version
	known  bool
	base   *Owners // before the run
	depth  int

	target Target
	name   string
	live   store.Object
	sent   store.Object // instead of the version; then the run is a single write

	previous *run          // the run before, for some while
	count    int           // of runs that are linked so
	over     bool          // another write has followed
	clear    bool          // where it wrote is known, since it is over
	touched  []shape.Place // that is where

	last answer
}

// answer is what was asked for last.
type answer struct {
	obj    store.Object
	at     int64
	owners *Owners
}

// sealed is a mark that has become that of other versions.
type sealed struct {
	mark   store.Mark
	obj    store.Object
	known  bool
	owners *Owners
}

// Settled returns the mark of a version whose owners are known.
func Settled(o *Owners) store.Mark {
	if o.Empty() {
		return store.Mark{}
	}
	return store.Mark{By: o}
}

// Carry returns the mark of a version that an untracked write makes of obj, whose
// mark is before: the owners stay.
func Carry(before store.Mark, obj store.Object) store.Mark {
	before.Sealed = nil
	switch before.By.(type) {
	case *birth, *run, *lap:
		return store.Mark{By: &sealed{mark: before, obj: obj}}
	default:
		before.Raw = false
		return before
	}
}

// Note returns the mark of the version that w makes. Before is the mark of
// w.Live.
func (l *Ledger) Note(before store.Mark, w Write) store.Mark {
	if before.By == nil && w.Live != nil {
		return store.Mark{} // nobody owns anything, and it stays so
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch by := before.By.(type) {
	case *birth:
		if w.Sent == nil && *by == (birth{w.Target, w.Name}) && w.Target.Onward(nil, w.Live, w.Object) {
			return store.Mark{By: by, At: w.Time.Unix()}
		}
	case *run:
		if by.continues(&w) {
			return store.Mark{By: by, At: w.Time.Unix()}
		}
	}
	if w.Live == nil && w.Sent == nil {
		return store.Mark{By: l.birth(w.Target, w.Name), At: w.Time.Unix()}
	}
	last := latest(before)
	if last != nil {
		l.finish(last, w.Live)
		if next := l.again(before, last, &w); next != nil {
			return store.Mark{By: next, At: w.Time.Unix()}
		}
	}
	r := &run{target: w.Target, name: w.Name, live: w.Live, sent: w.Sent, depth: depth(before) + 1}
	if last != nil && last.count < linksMax {
		r.previous, r.count = last, last.count+1
	}
	switch {
	case w.Live == nil:
		r.known = true
	case r.depth > chainMax:
		r.known, r.base, r.depth = true, l.owners(before, w.Live), 1
	default:
		r.before, r.end = before, w.Live
	}
	return store.Mark{By: r, At: w.Time.Unix()}
}

// birth returns the mark of what name makes.
func (l *Ledger) birth(target Target, name string) *birth {
	key := birth{target, name}
	b, ok := l.births[key]
	if !ok {
		if l.births == nil {
			l.births = map[birth]*birth{}
		}
		b = &key
		l.births[key] = b
	}
	return b
}

// continues reports whether w can be told as part of the run.
func (r *run) continues(w *Write) bool {
	return r.target == w.Target && r.name == w.Name && r.sent == nil && w.Sent == nil && r.target.Onward(r.live, w.Live, w.Object)
}

// depth is the number of notes on which a version depends.
func depth(m store.Mark) int {
	switch by := m.By.(type) {
	case *run:
		if by.known {
			return 1
		}
		return by.depth
	case *lap:
		return depth(by.mark)
	case *sealed:
		if by.known {
			return 0
		}
		return depth(by.mark)
	default:
		return 0
	}
}

// Owners returns who owns what of obj, a version with the mark m.
func (l *Ledger) Owners(m store.Mark, obj store.Object) *Owners {
	switch by := m.By.(type) {
	case nil:
		return nil
	case *Owners:
		return by
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owners(m, obj)
}

func (l *Ledger) owners(m store.Mark, obj store.Object) *Owners {
	switch by := m.By.(type) {
	case *Owners:
		return by
	case *birth:
		return l.atBirth(by, m.At, obj)
	case *run:
		return l.after(by, m.At, obj)
	case *lap:
		return l.stamped(by, m.At, obj)
	case *sealed:
		if !by.known {
			by.owners, by.known = l.owners(by.mark, by.obj), true
			by.mark, by.obj = store.Mark{}, nil
		}
		return by.owners
	default:
		return nil
	}
}

func (l *Ledger) atBirth(b *birth, at int64, obj store.Object) *Owners {
	if a, ok := l.born[obj]; ok && a.at == at {
		return a.owners
	}
	owners := b.target.Update(nil, nil, obj, b.name, metav1.NewTime(time.Unix(at, 0).UTC()))
	if l.born == nil || len(l.born) == bornMax {
		l.born = map[store.Object]answer{}
	}
	l.born[obj] = answer{at: at, owners: owners}
	return owners
}

func (l *Ledger) after(r *run, at int64, obj store.Object) *Owners {
	if r.last.obj == obj && r.last.at == at {
		return r.last.owners
	}
	if !r.known {
		r.base, r.known = l.owners(r.before, r.end), true
		r.before, r.end = store.Mark{}, nil
	}
	wanted := obj
	if r.sent != nil {
		wanted = r.sent
	}
	r.last.owners = r.target.Update(r.base, r.live, wanted, r.name, metav1.NewTime(time.Unix(at, 0).UTC()))
	r.last.obj, r.last.at = obj, at
	return r.last.owners
}
