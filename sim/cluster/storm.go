package cluster

import (
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Requests about one object, or list, within a minute of virtual time that no program
// makes which waits between two attempts. Reads are counted for each process that there
// is, on average: all may look at the same.
const (
	stormWrites = 3_000
	stormReads  = 12_000
)

// StormError says that requests about one object do not end: programs that wake each
// other, or one that tries again without a pause. Such a run would go on for ever, and
// each minute of it would take longer than the one before.
type StormError struct {
	Process  string // that made the last request
	Task     string // the running task; empty for a callback
	Request  string // such as "create secrets/ns"
	Requests int    // about the same, within the minute
	At       time.Duration
}

// Error names the process and what it asks for.
func (s *StormError) Error() string {
	who := s.Process
	if s.Task != "" {
		who = "task " + s.Task
	}
	return fmt.Sprintf("storm: %d requests within a minute at %v about the same as %q of %s", s.Requests, s.At, s.Request, who)
}

// traffic is how many requests were made about something in the current minute.
type traffic struct {
	minute        int64
	writes, reads int
}

// count counts a request, and ends the run if it is part of a storm.
func (t *traffic) count(r *request) {
	c := r.cluster
	if minute := int64(c.eng.Elapsed() / time.Minute); minute != t.minute {
		*t = traffic{minute: minute}
	}
	n := &t.reads
	limit := stormReads * max(1, len(c.processes))
	if r.req.Verb.Write() {
		n, limit = &t.writes, stormWrites
	}
	if *n++; *n <= limit {
		return
	}
	c.eng.Stop(&StormError{Process: r.proc.name, Task: c.eng.Running(), Request: engine.Op{Verb: r.verb, Key: r.key}.String(), Requests: *n, At: c.eng.Elapsed()})
}
