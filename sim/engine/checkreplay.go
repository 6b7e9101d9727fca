package engine

import "fmt"

// NondeterminismError says that two runs which should be equal are not.
type NondeterminismError struct {
	Run          int // which repetition differed, from 1
	First, Other Result
	// At is the index of the first differing record, or -1 if the runs kept no
	// records or the records are equal.
	At int
}

// Error shows the first difference.
func (n *NondeterminismError) Error() string {
	head := fmt.Sprintf("nondeterminism: repetition %d has hash %016x after %d steps, the first run %016x after %d",
		n.Run, n.Other.Hash, n.Other.Steps, n.First.Hash, n.First.Steps)
	if n.At < 0 {
		return head + "; run with TraceFull to see the first difference"
	}
	return fmt.Sprintf("%s; they part at record %d: %s, the first run %s",
		head, n.At, recordAt(n.Other.Records, n.At), recordAt(n.First.Records, n.At))
}

// CheckReplay calls run once and then times more, and returns a
// [NondeterminismError] if a repetition differs. With [TraceFull] it names the
// first record that does. A source of nondeterminism that acts once per run shows
// in as few as one repetition of five: prefer many seeds to many repetitions.
func CheckReplay(run func() Result, times int) error {
	first := run()
	for i := range times {
		other := run()
		if other.Hash == first.Hash && other.Steps == first.Steps {
			continue
		}
		return &NondeterminismError{Run: i + 1, First: first, Other: other,
			At: firstDifference(first.Records, other.Records)}
	}
	return nil
}

func firstDifference(a, b []Record) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		x.Detail, y.Detail = "", ""
		x.State, y.State = "", ""
		if x != y {
			return i
		}
	}
	if len(a) == len(b) {
		return -1
	}
	return min(len(a), len(b))
}

func recordAt(rs []Record, i int) string {
	if i >= len(rs) {
		return "nothing (the run is over)"
	}
	return rs[i].String()
}

// String shows a record on one line.
func (r Record) String() string {
	s := fmt.Sprintf("[%d %v %s]", r.Step, r.At, r.Kind)
	for _, part := range []string{r.Actor, r.Verb, r.Object} {
		if part != "" {
			s += " " + part
		}
	}
	if r.N != 0 {
		s += fmt.Sprintf(" %d", r.N)
	}
	return s
}
