package engine

// Schedule is a run as the answers its source gave: it can be replayed and
// shrunk. Its zero value is the simplest run: no faults, least delays, and no
// switch between tasks that is not forced.
type Schedule struct {
	// Blocks are the scheduling decisions with more than one ready task.
	Blocks []Block
	// Picks are the other choices whose outcome was not 0, in order of time.
	Picks []Pick
	// Entropy is the seed of all random bytes.
	Entropy uint64
}

// Block says: task runs for the next Steps contended decisions. Decisions with one
// ready task are not counted, since nothing is decided there.
type Block struct {
	Task  string
	Steps int
}

// Pick says: choice number Nth of the stream Label has outcome Value. Choices
// without a pick have outcome 0.
type Pick struct {
	Label string
	Nth   uint64
	Value uint64
}

// recorder collects the schedule of a run.
type recorder struct {
	blocks []Block
	picks  []Pick
}

func (r *recorder) block(task string) {
	if n := len(r.blocks); n > 0 && r.blocks[n-1].Task == task {
		r.blocks[n-1].Steps++
		return
	}
	r.blocks = append(r.blocks, Block{task, 1})
}

func (r *recorder) pick(label string, nth, value uint64) {
	r.picks = append(r.picks, Pick{label, nth, value})
}

func (r *recorder) schedule(entropy uint64) Schedule {
	n, m := len(r.blocks), len(r.picks)
	return Schedule{Blocks: r.blocks[:n:n], Picks: r.picks[:m:m], Entropy: entropy}
}
