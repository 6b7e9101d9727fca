package sim

import (
	"errors"
	"fmt"
	"time"
)

// property is something that must be true of a run.
type property struct {
	name, meaning string

	// check is asked after each step that touched something; done properties
	// are not asked any more.
	check func() error
	done  bool

	// broken is what was seen, in a world that goes on all the same.
	broken *Violation

	// final is asked at the end of the run.
	final func() error
}

// Violation is a property that did not hold.
type Violation struct {
	Property string        // its name
	Meaning  string        // why it matters, as a sentence
	At       time.Duration // virtual time
	Err      error         // what was seen
}

// Error is one line: the property and what was seen.
func (v *Violation) Error() string { return fmt.Sprintf("property %q broken: %v", v.Property, v.Err) }

// Unwrap returns what was seen.
func (v *Violation) Unwrap() error { return v.Err }

// Always says that check returns nil at every moment. It is asked after each
// step in which an object changed, a process started or ended, or code under
// test called Env.Touch.
func (w *World) Always(name, meaning string, check func() error) {
	w.add(&property{name: name, meaning: meaning, check: check})
}

// Never says that when is false at every moment.
func (w *World) Never(name, meaning string, when func() bool) {
	w.Always(name, meaning, func() error {
		if when() {
			return errors.New("it happened")
		}
		return nil
	})
}

// Eventually says that at some moment, at most within after faults have ceased,
// check returns nil. Where there is a core that recovers before the rest, it counts from
// the end of its time. Without a time at which faults cease, it counts from now. The
// run must be long enough to tell.
func (w *World) Eventually(name, meaning string, within time.Duration, check func() error) {
	p := &property{name: name, meaning: meaning}
	start := max(w.Engine().Elapsed(), w.CeaseAt())
	if w.awaits = name; w.core != nil {
		start = max(start, w.core.until)
	}
	if end := start + within; end > w.horizon {
		w.Must(fmt.Errorf("property %q can be judged after %v, but the run ends after %v", name, end, w.horizon))
	}
	held := errors.New("it was never looked at")
	look := func() {
		if !p.done && w.Engine().Elapsed() >= start {
			held = check()
			p.done = held == nil
		}
	}
	p.check = func() error { look(); return nil }
	p.final = func() error {
		if look(); p.done {
			return nil
		}
		return fmt.Errorf("not within %v: %w", within, held)
	}
	w.add(p)
	w.At(start+within, func() {
		if err := p.final(); err != nil {
			if err := w.breach(p, err); err != nil {
				w.Engine().Stop(err)
			}
		}
		p.done = true
	})
}

// Finally says that check returns nil at the end of the run.
func (w *World) Finally(name, meaning string, check func() error) {
	w.add(&property{name: name, meaning: meaning, final: check})
}

func (w *World) add(p *property) { w.properties = append(w.properties, p) }

func (w *World) violated(p *property, err error) *Violation {
	v := &Violation{Property: p.name, Meaning: p.meaning, At: w.Engine().Elapsed(), Err: err}
	w.Cluster.Narrate("prop", p.name, "broken", "property broken: "+p.name+": "+err.Error())
	return v
}

// look is called after each step that touched something.
func (w *World) look() error {
	for _, p := range w.properties {
		if p.check == nil || p.done {
			continue
		}
		if err := p.check(); err != nil {
			if err := w.breach(p, err); err != nil {
				return err
			}
		}
	}
	for _, m := range w.marks {
		m.look()
	}
	return nil
}

// lookAtEnd asks the properties about the end of the run.
func (w *World) lookAtEnd() error {
	if err := w.look(); err != nil {
		return err
	}
	for _, p := range w.properties {
		if p.final == nil || p.done {
			continue
		}
		if err := p.final(); err != nil {
			return w.violated(p, err)
		}
	}
	return nil
}

// mark is something that should happen in at least one run of a check.
type mark struct {
	name, meaning string
	when          func() bool
	reached       bool
}

func (m *mark) look() {
	if !m.reached && m.when != nil && m.when() {
		m.reached = true
	}
}

// Sometimes says that when is true at some moment of at least one run: a check
// that never gets there has tested less than it seems to.
func (w *World) Sometimes(name, meaning string, when func() bool) {
	w.marks = append(w.marks, &mark{name: name, meaning: meaning, when: when})
}

// Reached says that the returned function is called in at least one run.
func (w *World) Reached(name, meaning string) (here func()) {
	m := &mark{name: name, meaning: meaning}
	w.marks = append(w.marks, m)
	return func() { m.reached = true }
}
