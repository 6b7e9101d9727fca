package cluster

import (
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// faults is what is wrong with a cluster at present.
type faults struct {
	active  []*activeFault
	ongoing []*ongoing
	started int
	ceased  bool
	strikes map[string]int // by kind
	spans   uint64         // begun, for the trace
}

// activeFault is a Fault that may strike now.
type activeFault struct {
	fault   Fault
	kind    *FaultKind
	id      int
	slot    int
	span    uint64 // its number in the trace
	tick    engine.Timer
	due     engine.Timer // of a stroke within the present period
	stopped bool
}

// ongoing is the effect of a strike that lasts: undo ends it.
type ongoing struct {
	fault *activeFault
	undo  func()
	timer engine.Timer
	span  uint64 // its number in the trace
}

// strike is one stroke of a timed fault.
type strike struct {
	fault *activeFault
	spans *engine.Stream // everything about this stroke: what, where, how long
	on    string         // the entity picked
}

// span draws how long the stroke lasts.
func (s *strike) span() time.Duration { return s.spans.Duration(s.fault.fault.Span) }

// begin schedules the faults of a profile.
func (c *Cluster) begin(p Profile) {
	for _, f := range p.draw(c.eng).Faults {
		c.schedule(f)
	}
	if p.CeaseAt > 0 {
		c.eng.After(p.CeaseAt, func(any) { c.CeaseFaults() }, nil)
	}
}

// schedule begins f at its From and ends it at its Until.
func (c *Cluster) schedule(f Fault) {
	if f.From > c.eng.Elapsed() {
		c.eng.After(f.From-c.eng.Elapsed(), func(any) { c.StartFault(f) }, nil)
		return
	}
	c.StartFault(f)
}

// StartFault switches a fault on, until StopFault, its Until, or CeaseFaults.
// It panics if the fault is not valid.
func (c *Cluster) StartFault(f Fault) (stop func()) {
	if err := f.Validate(); err != nil {
		panic("cluster: " + err.Error())
	}
	if c.faults.ceased {
		return func() {}
	}
	a := c.switchOn(f)
	return func() { c.stopFault(a) }
}

func (c *Cluster) switchOn(f Fault) *activeFault {
	k := faultKinds[f.Kind]
	a := &activeFault{fault: f.withDefaults(k), kind: k, id: c.faults.started}
	c.faults.started++
	c.faults.active = append(c.faults.active, a)
	if k.fits != nil && c.contests == nil {
		c.contests = map[string]*contest{}
	}
	switch k.Sites[0] {
	case SiteTimed:
		c.tick(a)
	case SiteHeld:
		c.stroke(a, "held")
	default:
		a.span = c.noteBegin(k.Name, "")
		c.aimAll()
	}
	if f.Until > 0 {
		c.eng.After(f.Until-c.eng.Elapsed(), func(any) { c.stopFault(a) }, nil)
	}
	return a
}

func (c *Cluster) stopFault(a *activeFault) {
	if a.stopped {
		return
	}
	a.stopped = true
	a.tick.Cancel()
	a.due.Cancel()
	c.faults.active = slices.DeleteFunc(c.faults.active, func(x *activeFault) bool { return x == a })
	c.noteEnd(a.span)
	for _, o := range slices.Clone(c.faults.ongoing) {
		if o.fault == a {
			c.end(o)
		}
	}
	c.aimAll()
}

// CeaseFaults ends all faults and their effects, for good: partitions heal,
// nodes and API servers come up, clocks are right again, and processes that wait
// for a restart need not wait longer because faults have ended them before. From
// here on the cluster must recover.
func (c *Cluster) CeaseFaults() { c.cease("from here on nothing goes wrong any more") }

// cease is CeaseFaults with what the story says about it.
func (c *Cluster) cease(story string) {
	if c.faults.ceased {
		return
	}
	c.emit("story", "", "cease", "", 0, story)
	for len(c.faults.active) > 0 {
		c.stopFault(c.faults.active[0])
	}
	for _, p := range c.processes {
		p.forgive()
	}
	c.faults.ceased = true
}

// Ceased reports whether faults have ceased.
func (c *Cluster) Ceased() bool { return c.faults.ceased }

// troubled reports whether something is wrong that may make API calls wait for
// long.
func (c *Cluster) troubled() bool {
	if len(c.faults.active) > 0 || len(c.cuts) > 0 {
		return true
	}
	for _, i := range c.instances {
		if i.down || i.frozen > 0 {
			return true
		}
	}
	return false
}

func (c *Cluster) aimAll() {
	for _, p := range c.processes {
		c.aim(p)
	}
	for _, v := range c.visitors {
		c.aim(&v.client)
	}
}

// tick gives a timed fault its next opportunity, one period from now. A stroke
// comes at any moment of the period that follows: on the grid of the periods,
// strokes would coincide with each other and with timers of whole seconds, and
// would never come between them.
func (c *Cluster) tick(a *activeFault) {
	a.tick = c.eng.After(a.fault.Every, func(any) {
		a.slot++
		c.tick(a)
		if !c.eng.Stream("fault/"+a.kind.Name, itoa(a.id)).Hit(a.fault.Rate) {
			return
		}
		slot := itoa(a.slot)
		wait := c.eng.Stream("when/"+a.kind.Name, itoa(a.id)+"/"+slot).Duration(engine.Dist{Max: a.fault.Every - 1})
		a.due = c.eng.After(wait, func(any) { c.stroke(a, slot) }, nil)
	}, nil)
}

// stroke lets a timed fault strike. Everything about one stroke is drawn from a
// stream of its own, so that removing it leaves all others as they were.
func (c *Cluster) stroke(a *activeFault, slot string) {
	s := &strike{fault: a, spans: c.eng.Stream("span/"+a.kind.Name, itoa(a.id)+"/"+slot)}
	undo := a.kind.timed(c, s)
	if undo == nil {
		return
	}
	o := &ongoing{fault: a, undo: undo, span: c.noteBegin(a.kind.Name, s.on)}
	c.faults.ongoing = append(c.faults.ongoing, o)
	if a.kind.Sites[0] == SiteTimed {
		o.timer = c.eng.After(s.span(), func(any) { c.end(o) }, nil)
	}
}

func (c *Cluster) end(o *ongoing) {
	i := slices.Index(c.faults.ongoing, o)
	if i < 0 {
		return
	}
	c.faults.ongoing = slices.Delete(c.faults.ongoing, i, i+1)
	o.timer.Cancel()
	o.undo()
	c.noteEnd(o.span)
}

// pick chooses one of the entities that match the fault's target.
func pick[T interface{ Name() string }](s *strike, all []T) (one T, ok bool) {
	var fit []T
	for _, x := range all {
		if match(s.fault.fault.Target, x.Name()) {
			fit = append(fit, x)
		}
	}
	if len(fit) == 0 {
		return one, false
	}
	one = fit[s.spans.Intn(len(fit))]
	s.on = one.Name()
	return one, true
}
