package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Names of lanes that stand for nobody in the trace.
const (
	storyLane = "story"
	faultLane = "faults"
)

// Groups of lanes that are not on a node.
const (
	controlPlane = "control plane"
	outside      = "outside"
)

// controlPlaneNode is the machine of the control plane.
const controlPlaneNode = "control-plane"

// Draw makes a drawing of a run.
func Draw(run *Run) *Drawing {
	d := &drawer{
		Drawing: &Drawing{Run: run}, lanes: map[string]int{},
		begun: map[uint64]int{}, downs: map[int]int{}, pauses: map[int]int{},
	}
	d.layOut()
	for i := range run.Records {
		d.record(&run.Records[i])
	}
	d.mergeBands()
	return d.Drawing
}

// drawer is a drawing in the making.
type drawer struct {
	*Drawing
	lanes  map[string]int // by name
	begun  map[uint64]int // open bands of faults, by number
	downs  map[int]int    // open bands, by lane
	pauses map[int]int
}

// layOut finds all lanes and puts them into order: the story, faults, API servers,
// the control plane, and each node with what runs on it.
func (d *drawer) layOut() {
	seen := map[string]bool{}
	nodes := map[string]bool{}
	servers := map[string]bool{}
	for i := range d.Run.Records {
		r := &d.Run.Records[i]
		if r.Kind == "step" || r.Kind == cluster.NoteState {
			continue
		}
		name := d.actor(r)
		seen[name] = true
		if node, _, inside := strings.Cut(name, "/"); inside && node != outside {
			nodes[node] = true
		}
		if r.Peer != "" {
			seen[r.Peer], servers[r.Peer] = true, true
		}
	}
	for name := range seen { // sorted below
		lane := Lane{Name: name, Label: name, Kind: ProcessLane, Group: controlPlane}
		group, label, inside := strings.Cut(name, "/")
		switch {
		case name == storyLane:
			lane.Kind, lane.Group = StoryLane, ""
		case name == faultLane:
			lane.Kind, lane.Group = FaultLane, ""
		case servers[name] || strings.HasPrefix(name, "apiserver-"):
			lane.Kind = ServerLane
		case inside:
			lane.Label, lane.Group = label, group
		case name == controlPlaneNode:
			lane.Kind = NodeLane
		case nodes[name] || strings.HasPrefix(name, "node-"):
			lane.Kind, lane.Group = NodeLane, name
		}
		d.Lanes = append(d.Lanes, lane)
	}
	slices.SortFunc(d.Lanes, func(a, b Lane) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), natural(a.Group, b.Group), cmp.Compare(a.kindRank(), b.kindRank()), natural(a.Label, b.Label))
	})
	for i, l := range d.Lanes {
		d.lanes[l.Name] = i
	}
}

// rank orders groups.
func (l Lane) rank() int {
	switch {
	case l.Kind == StoryLane:
		return 0
	case l.Kind == FaultLane:
		return 1
	case l.Group == controlPlane:
		return 2
	case l.Group == outside:
		return 4
	}
	return 3
}

// kindRank orders lanes within a group.
func (l Lane) kindRank() int {
	return slices.Index([]LaneKind{ServerLane, NodeLane, ProcessLane}, l.Kind)
}

// natural compares names so that node-2 comes before node-10.
func natural(a, b string) int {
	x, y := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if x != y {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// actor is the lane of a record.
func (d *drawer) actor(r *engine.Record) string {
	switch {
	case r.Kind == cluster.NoteBegin && r.Actor == "":
		return faultLane
	case r.Actor == "":
		return storyLane
	case r.Kind == "prop":
		return storyLane
	}
	return r.Actor
}

// record draws one record.
func (d *drawer) record(r *engine.Record) {
	switch r.Kind {
	case "step":
		d.Steps++
	case cluster.NoteState:
		d.States = append(d.States, State{
			At: r.At, Object: r.Object, Revision: r.N, By: r.Actor, Deleted: r.Verb == "delete", JSON: r.State,
		})
	case cluster.NoteCall:
		d.arrow(r, RequestArrow, r.Actor, r.Peer)
	case cluster.NoteAnswer:
		d.arrow(r, AnswerArrow, r.Peer, r.Actor)
	case cluster.NoteEvent:
		d.arrow(r, WatchArrow, r.Peer, r.Actor)
	case cluster.NoteBegin:
		d.begun[r.N] = d.open(d.lanes[d.actor(r)], FaultBand, r.Verb, r.At)
	case cluster.NoteEnd:
		closeBand(d.Drawing, d.begun, r.N, r.At)
	default:
		if r.Kind == "proc" && r.Actor != "" {
			d.life(r)
		}
		if r.Detail != "" {
			d.event(r)
		}
	}
}

// event draws a record that has words.
func (d *drawer) event(r *engine.Record) {
	d.Events = append(d.Events, Event{
		At: r.At, Step: r.Step, Lane: d.lanes[d.actor(r)], Kind: r.Kind, Text: r.Detail, Object: objectOf(r),
		Bad: r.Kind == "prop" || r.Kind == "api" && (r.N >= firstErrorCode || r.N == 0 && r.Verb == "error"),
	})
}

// firstErrorCode is the lowest status code of an error.
const firstErrorCode = 400

// objectOf is the key of the object that an event is about: of watch events the
// trace keeps the name alone, but the words end in the key.
func objectOf(r *engine.Record) string {
	switch r.Kind {
	case "api":
		return r.Object
	case "watch":
		if i := strings.LastIndexByte(r.Detail, ' '); strings.HasSuffix(r.Detail, "/"+r.Object) {
			return r.Detail[i+1:]
		}
	}
	return ""
}

// arrow draws something that has travelled.
func (d *drawer) arrow(r *engine.Record, kind ArrowKind, from, to string) {
	if from == "" || to == "" {
		return
	}
	d.Arrows = append(d.Arrows, Arrow{
		From: d.lanes[from], To: d.lanes[to], Sent: r.Since, Arrived: r.At, Kind: kind, Object: r.Object, Describe: r.Verb,
		Bad: kind != WatchArrow && r.N >= firstErrorCode,
	})
}

// life draws when something did not run or stood still.
func (d *drawer) life(r *engine.Record) {
	lane := d.lanes[r.Actor]
	if d.Lanes[lane].Kind == StoryLane { // nobody misses it once it is told
		return
	}
	switch r.Verb {
	case "end", "stop", "crash", "exit":
		closeBand(d.Drawing, d.pauses, lane, r.At)
		if _, down := d.downs[lane]; !down {
			d.downs[lane] = d.open(lane, DownBand, "does not run", r.At)
		}
	case "start", "boot":
		closeBand(d.Drawing, d.downs, lane, r.At)
	case "pause":
		if _, paused := d.pauses[lane]; !paused {
			d.pauses[lane] = d.open(lane, PauseBand, "paused", r.At)
		}
	case "resume":
		closeBand(d.Drawing, d.pauses, lane, r.At)
	}
}

// open begins a band, which lasts until the end of the run unless it is closed.
func (d *drawer) open(lane int, kind BandKind, label string, at time.Duration) int {
	d.Bands = append(d.Bands, Band{Lane: lane, From: at, To: d.Run.Elapsed, Label: label, Kind: kind})
	return len(d.Bands) - 1
}

// closeBand ends the band that is open under a key, if there is one.
func closeBand[K comparable](d *Drawing, open map[K]int, key K, at time.Duration) {
	if i, ok := open[key]; ok {
		d.Bands[i].To = at
		delete(open, key)
	}
}

// mergeBands makes one band of those that lie on each other.
func (d *drawer) mergeBands() {
	merged := d.Bands[:0:0]
	for _, b := range d.Bands {
		i := slices.IndexFunc(merged, func(m Band) bool {
			return m.Lane == b.Lane && m.Kind == b.Kind && m.From == b.From && m.To == b.To
		})
		if i < 0 {
			merged = append(merged, b)
			continue
		}
		merged[i].Label += ", " + b.Label
	}
	d.Bands = merged
}
