package report

import "time"

// payload is a drawing in the form that the page's script reads: columns of small
// numbers, which compress well. Strings are indices of Strings. Times are
// microseconds, each but the first as the difference to the one before.
type payload struct {
	Run     *Run     `json:"run"`
	Verdict string   `json:"verdict"`
	Steps   int      `json:"steps"`
	Left    []string `json:"left,omitempty"` // what was left out, in words
	Strings []string `json:"strings"`
	Lanes   []Lane   `json:"lanes"`
	Events  columns  `json:"events"`
	Arrows  columns  `json:"arrows"`
	Bands   columns  `json:"bands"`
	States  columns  `json:"states"`

	d       *Drawing
	strings map[string]int

	from, statesFrom int // the first event and the first state that are kept
}

// columns are the fields of many things of a kind.
type columns map[string][]int

func newPayload(d *Drawing) *payload {
	p := &payload{Run: d.Run, Verdict: verdict(d.Run), Steps: d.Steps, Lanes: d.Lanes, d: d}
	p.fill()
	return p
}

// keep leaves out all but a share of the states and of the events, the latest ones.
func (p *payload) keep(states, events float64) {
	p.statesFrom = len(p.d.States) - int(states*float64(len(p.d.States)))
	p.from = len(p.d.Events) - int(events*float64(len(p.d.Events)))
	p.Left = nil
	switch {
	case p.statesFrom == len(p.d.States):
		p.Left = append(p.Left, "the states of objects")
	case p.statesFrom > 0:
		p.Left = append(p.Left, "states of objects from before "+clockText(p.d.States[p.statesFrom].At))
	}
	if p.from > 0 && p.from < len(p.d.Events) {
		p.Left = append(p.Left, "what came before "+clockText(p.d.Events[p.from].At))
	}
	p.fill()
}

// fill makes the columns anew.
func (p *payload) fill() {
	p.Strings, p.strings = nil, map[string]int{}
	p.text("")
	from := time.Duration(0)
	if p.from > 0 && p.from < len(p.d.Events) {
		from = p.d.Events[p.from].At
	}
	p.fillEvents()
	p.fillArrows(from)
	p.fillBands(from)
	p.fillStates(from)
}

// text is the index of a string.
func (p *payload) text(s string) int {
	i, ok := p.strings[s]
	if !ok {
		i = len(p.Strings)
		p.strings[s] = i
		p.Strings = append(p.Strings, s)
	}
	return i
}

// difference is a column of times.
type difference struct{ last int }

func (d *difference) of(t time.Duration) int {
	us := int(t / time.Microsecond)
	delta := us - d.last
	d.last = us
	return delta
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *payload) fillEvents() {
	c := columns{"at": {}, "lane": {}, "kind": {}, "text": {}, "object": {}, "bad": {}}
	var at difference
	for _, e := range p.d.Events[p.from:] {
		c.add("at", at.of(e.At))
		c.add("lane", e.Lane)
		c.add("kind", p.text(e.Kind))
		c.add("text", p.text(e.Text))
		c.add("object", p.text(e.Object))
		c.add("bad", flag(e.Bad))
	}
	p.Events = c
}

func (p *payload) fillArrows(from time.Duration) {
	c := columns{"from": {}, "to": {}, "at": {}, "took": {}, "kind": {}, "what": {}, "object": {}, "bad": {}}
	var at difference
	for _, a := range p.d.Arrows {
		if a.Arrived < from {
			continue
		}
		c.add("from", a.From)
		c.add("to", a.To)
		c.add("at", at.of(a.Arrived))
		c.add("took", int((a.Arrived-a.Sent)/time.Microsecond))
		c.add("kind", p.text(string(a.Kind)))
		c.add("what", p.text(a.Describe))
		c.add("object", p.text(a.Object))
		c.add("bad", flag(a.Bad))
	}
	p.Arrows = c
}

func (p *payload) fillBands(from time.Duration) {
	c := columns{"lane": {}, "from": {}, "to": {}, "label": {}, "kind": {}}
	for _, b := range p.d.Bands {
		if b.To < from {
			continue
		}
		c.add("lane", b.Lane)
		c.add("from", int(max(b.From, from)/time.Microsecond))
		c.add("to", int(b.To/time.Microsecond))
		c.add("label", p.text(b.Label))
		c.add("kind", p.text(string(b.Kind)))
	}
	p.Bands = c
}

func (p *payload) fillStates(from time.Duration) {
	c := columns{"at": {}, "object": {}, "revision": {}, "by": {}, "deleted": {}, "json": {}}
	p.States = c
	var at difference
	for _, s := range p.d.States[p.statesFrom:] {
		c.add("at", at.of(max(s.At, from)))
		c.add("object", p.text(s.Object))
		c.add("revision", int(s.Revision))
		c.add("by", p.text(s.By))
		c.add("deleted", flag(s.Deleted))
		c.add("json", p.text(s.JSON))
	}
}

func (c columns) add(name string, v int) { c[name] = append(c[name], v) }
