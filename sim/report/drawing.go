package report

import "time"

// Drawing is a run as it is drawn.
type Drawing struct {
	Run    *Run
	Lanes  []Lane
	Events []Event
	Arrows []Arrow
	Bands  []Band
	States []State
	Steps  int // of the engine, which are not drawn
}

// Lane is a row: something that acts or is acted upon.
type Lane struct {
	Name  string   `json:"name"`  // as in the trace
	Label string   `json:"label"` // without the group
	Group string   `json:"group"` // the node it is on, "control plane", "outside" or empty
	Kind  LaneKind `json:"kind"`
}

// LaneKind says what a lane stands for.
type LaneKind string

// Kinds of lanes.
const (
	StoryLane   LaneKind = "story"   // what the scenario does
	FaultLane   LaneKind = "faults"  // what lies in wait for many
	ServerLane  LaneKind = "server"  // an API server
	NodeLane    LaneKind = "node"    // a node itself
	ProcessLane LaneKind = "process" // anything else
)

// Event is something that has words. Lane is an index.
type Event struct {
	At     time.Duration
	Step   uint64
	Lane   int
	Kind   string // as in the trace
	Text   string
	Object string // that it is about, if any
	Bad    bool   // an answer that is an error
}

// Arrow goes from one lane to another, which takes time.
type Arrow struct {
	From, To         int // lanes
	Sent, Arrived    time.Duration
	Kind             ArrowKind
	Object, Describe string
	Bad              bool
}

// ArrowKind says what travels.
type ArrowKind string

// Kinds of arrows.
const (
	RequestArrow ArrowKind = "request"
	AnswerArrow  ArrowKind = "answer"
	WatchArrow   ArrowKind = "watch"
)

// Band is a stretch of time in which something was wrong with a lane.
type Band struct {
	Lane     int
	From, To time.Duration
	Label    string
	Kind     BandKind
}

// BandKind says in what way it was wrong.
type BandKind string

// Kinds of bands.
const (
	FaultBand BandKind = "fault" // a fault of the simulator's
	DownBand  BandKind = "down"  // it does not run
	PauseBand BandKind = "pause" // it stands still
)

// State is one state of an object.
type State struct {
	At       time.Duration
	Object   string
	Revision uint64
	By       string // who wrote it, if that is known
	Deleted  bool
	JSON     string
}
