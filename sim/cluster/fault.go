package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Fault is one kind of trouble, how much of it, where and when. Which fields a
// kind looks at is said by its Knobs; zero means the kind's default.
type Fault struct {
	// Kind is the name of a registered [FaultKind].
	Kind string

	// Target narrows the fault to some entities: processes ("node-1/agent"),
	// nodes ("node-1"), API server instances ("apiserver-0") or links
	// ("node-1>node-2"), whatever the kind strikes. A * stands for any run of
	// characters; several patterns are separated by commas; empty means all.
	Target string

	// Rate is the chance of the fault at each opportunity.
	Rate engine.Prob

	// Every is the time between two opportunities of a timed kind, over the
	// whole cluster. The stroke comes at a moment of its own in the period after
	// the opportunity.
	Every time.Duration

	// Span is how long the fault lasts, or the delay it adds.
	Span engine.Dist

	// Verb and Key narrow faults of API calls: an exact verb, and a pattern for
	// the key "secrets/kube-system/x" or "nodes/node-1".
	Verb, Key string

	// Limit is a size or a count; what it means is the kind's affair.
	Limit int64

	// From and Until bound the time in which the fault may strike, counted from
	// the start of the run. Until zero means until faults cease.
	From, Until time.Duration
}

// Site is where a kind of fault finds its opportunities.
type Site string

// Sites of faults.
const (
	SiteRead  Site = "read"  // each read of a process's cache
	SiteSend  Site = "send"  // each API request, as its process sends it
	SiteServe Site = "serve" // each API request, as it reaches an API server
	SiteReply Site = "reply" // each API request, once it was carried out
	SiteWatch Site = "watch" // each event of a watch, as the API server sends it
	SiteTimed Site = "timed" // once per period, over all entities
	SiteHeld  Site = "held"  // once, when the fault begins; it lasts until it ends
)

// FaultKind describes one kind of fault. Kinds are registered by the files
// fault_*.go, one each; lists, schema and documentation follow from the
// registry.
type FaultKind struct {
	Name    string
	Meaning string // one sentence
	Sites   []Site
	Strikes string // what a Target names: process, node, instance, link
	Knobs   []Knob // beside Kind, Target, Rate, From and Until
	Default Fault  // values of the fields that a Fault leaves zero
	Opt     bool   // not part of presets: has no sensible default, or matters to few
	inside  bool   // strikes clients inside the simulation only, not visitors

	// fits, if set, says which requests are opportunities.
	fits func(r *request) bool

	read  func(p *Process, s *site)                 // SiteRead, on a task
	call  func(r *request, s *site)                 // SiteSend, SiteServe, SiteReply
	watch func(w *session, s *site)                 // SiteWatch
	timed func(c *Cluster, s *strike) (undo func()) // SiteTimed, SiteHeld
}

// Knob is one field of Fault that a kind looks at, in words.
type Knob struct{ Name, Meaning string }

var faultKinds = map[string]*FaultKind{}

// register adds a kind; the fault_*.go files call it as they are initialised.
func register(k FaultKind) *FaultKind {
	if _, dup := faultKinds[k.Name]; dup {
		panic("cluster: fault kind registered twice: " + k.Name)
	}
	k.Default.Kind = k.Name
	faultKinds[k.Name] = &k
	return &k
}

// FaultKinds returns all kinds, sorted by name.
func FaultKinds() []*FaultKind {
	all := make([]*FaultKind, 0, len(faultKinds))
	for _, k := range faultKinds { // sorted below
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *FaultKind) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// LookupFault returns the kind of that name, or nil.
func LookupFault(name string) *FaultKind { return faultKinds[name] }

// Validate reports the first thing wrong with f.
func (f Fault) Validate() error {
	k := faultKinds[f.Kind]
	switch {
	case k == nil:
		return fmt.Errorf("unknown fault %q", f.Kind)
	case f.Rate > million:
		return fmt.Errorf("fault %s: rate %d ppm is above one", f.Kind, f.Rate)
	case f.Span.Min < 0 || f.Span.Mean < 0 || f.Span.Max < 0:
		return fmt.Errorf("fault %s: negative span", f.Kind)
	case f.Every < 0 || f.From < 0 || f.Until < 0:
		return fmt.Errorf("fault %s: negative time", f.Kind)
	case f.Until != 0 && f.Until <= f.From:
		return fmt.Errorf("fault %s: until %v is not after from %v", f.Kind, f.Until, f.From)
	}
	return nil
}

// withDefaults fills the zero fields of f from its kind.
func (f Fault) withDefaults(k *FaultKind) Fault {
	d := k.Default
	if f.Rate == 0 {
		f.Rate = d.Rate
	}
	if f.Every == 0 {
		f.Every = d.Every
	}
	if f.Span == (engine.Dist{}) {
		f.Span = d.Span
	}
	if f.Verb == "" {
		f.Verb = d.Verb
	}
	if f.Key == "" {
		f.Key = d.Key
	}
	if f.Limit == 0 {
		f.Limit = d.Limit
	}
	return f
}

// match reports whether name fits one of the comma-separated patterns.
func match(patterns, name string) bool {
	if patterns == "" || patterns == "*" {
		return true
	}
	for p := range strings.SplitSeq(patterns, ",") {
		if glob(strings.TrimSpace(p), name) {
			return true
		}
	}
	return false
}

// glob matches with * for any run of characters, "/" included.
func glob(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	for {
		mid, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, mid)
		}
		i := strings.Index(s, mid)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(mid):], next
	}
}
