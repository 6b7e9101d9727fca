package engine

import (
	"math/bits"
	"time"
)

// Shape says how the outcomes of a [Choice] are spread.
type Shape uint8

const (
	// Even gives every outcome the same weight.
	Even Shape = iota
	// Rare has two outcomes; 1 comes Arg times in a million.
	Rare
	// Decay prefers small outcomes: exponential with mean Arg, cut off at N-1.
	Decay
)

// Choice is one question to a [Source]: pick one of the outcomes 0 … N-1.
// Outcome 0 is always the simplest: no fault, the least delay, the first item.
type Choice struct {
	Label string // the stream that asks: purpose + "/" + entity
	Nth   uint64 // how many choices the stream made before this one
	N     uint64 // number of outcomes, at least 2
	Shape Shape
	Arg   uint64 // Rare: parts per million of outcome 1; Decay: mean outcome
}

// Outcome maps a uniform 64-bit number to an outcome by the choice's shape. It
// is monotone in u and maps 0 to 0, so a source that hands out coarse numbers
// (a byte stretched to 64 bits) still reaches both ends of the range.
func (c Choice) Outcome(u uint64) uint64 {
	switch c.Shape {
	case Rare:
		hi, _ := bits.Mul64(u, million)
		if hi >= million-min(c.Arg, million) && u != 0 {
			return 1
		}
		return 0
	case Decay:
		return min(exponential(u, c.Arg), c.N-1)
	default:
		hi, _ := bits.Mul64(u, c.N)
		return hi
	}
}

// Chooser answers the choices of one stream.
type Chooser interface {
	// Choose returns an outcome below c.N.
	Choose(c Choice) uint64
}

// Source answers every question that the program itself does not decide. A run
// is a function of the program and the answers of its source.
//
// A source serves one engine at a time and is used on its goroutine only.
type Source interface {
	// Begin makes the source ready for a run, from its first answer on.
	Begin()
	// Entropy is the seed of all random bytes handed to code under test. It is
	// asked once per run.
	Entropy() uint64
	// Stream returns the chooser for the stream with this label. It is asked
	// once per label and run.
	Stream(label string) Chooser
	// Next returns which of the ready tasks runs, as an index below c.Len(). It
	// is asked only when there are at least two.
	Next(c *Contention) int
}

// Contention is a scheduling decision: several tasks are ready. It is valid
// during one call of [Source.Next].
type Contention struct{ e *Engine }

// Len returns the number of ready tasks, in the order in which they became ready.
func (c *Contention) Len() int { return c.e.ready.n }

// Default returns the decision that switches least: the task that ran last if
// it is ready, and else the one that has been ready for longest.
func (c *Contention) Default() int { return max(c.Last(), 0) }

// Last returns the index of the task that ran last, or -1 if it is not ready.
func (c *Contention) Last() int {
	if t := c.e.task; t != nil && t.state == taskReady {
		for i := c.Len() - 1; i >= 0; i-- { // it became ready last, so it is near the end
			if c.e.ready.at(i) == t {
				return i
			}
		}
	}
	return -1
}

// Task returns the id of ready task i.
func (c *Contention) Task(i int) string { return c.e.ready.at(i).ID() }

// Op returns the operation at which ready task i waits.
func (c *Contention) Op(i int) Op { return c.e.ready.at(i).op }

// KeyHash returns a hash of Op(i).Key, or 0 if there is none.
func (c *Contention) KeyHash(i int) uint64 { return c.e.ready.at(i).keyHash }

// Serial returns a number that identifies ready task i within this run.
func (c *Contention) Serial(i int) uint64 { return c.e.ready.at(i).serial }

// Slot returns a word that belongs to ready task i and that the source may use
// as it likes. It is zero when the task starts.
func (c *Contention) Slot(i int) *uint64 { return &c.e.ready.at(i).slot }

// Elapsed returns the virtual time of the decision.
func (c *Contention) Elapsed() time.Duration { return c.e.Elapsed() }
