package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// MermaidLines is how many messages and notes a diagram has unless told otherwise:
// as many as are read.
const MermaidLines = 60

// WriteMermaid writes the end of a run as a Mermaid sequence diagram with at most so
// many messages and notes: requests as messages to their API server, all else as
// notes. Watch events are shown where they are about an object that somebody in the
// diagram writes.
func WriteMermaid(out io.Writer, d *Drawing, most int) error {
	events := d.Events
	if len(events) > most {
		events = events[len(events)-most:]
	}
	used := make([]bool, len(d.Lanes))
	to := make([]int, len(events)) // the API server that a request went to, or -1
	for i, e := range events {
		to[i] = d.servedBy(e)
		used[e.Lane] = true
		if to[i] >= 0 {
			used[to[i]] = true
		}
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "---\ntitle: %s\n---\nsequenceDiagram\n", mermaidText(fmt.Sprintf("%s, seed %d: %s", d.Run.Title, d.Run.Seed, verdict(d.Run))))
	for i, l := range d.Lanes {
		if used[i] {
			fmt.Fprintf(w, "  participant p%d as %s\n", i, mermaidText(l.Name))
		}
	}
	if left := len(d.Events) - len(events); left > 0 && len(events) > 0 {
		fmt.Fprintf(w, "  Note over p%d: %d events before this are left out\n", events[0].Lane, left)
	}
	for i, e := range events {
		text := mermaidText(clockText(e.At) + " " + e.Text)
		switch {
		case to[i] >= 0 && e.Bad:
			fmt.Fprintf(w, "  p%d-xp%d: %s\n", e.Lane, to[i], text)
		case to[i] >= 0:
			fmt.Fprintf(w, "  p%d->>p%d: %s\n", e.Lane, to[i], text)
		default:
			fmt.Fprintf(w, "  Note over p%d: %s\n", e.Lane, text)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// servedBy is the lane of the API server that answered the request of an event, or
// -1 if it is none.
func (d *Drawing) servedBy(e Event) int {
	if e.Kind != "api" {
		return -1
	}
	for _, a := range d.Arrows {
		if a.Kind == RequestArrow && a.Arrived == e.At && a.From == e.Lane && a.Object == e.Object {
			return a.To
		}
	}
	return -1
}

// mermaidText keeps a text from being taken for syntax.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", ";", "#59;", "\n", " ", "<", "#lt;", ">", "#gt;", "\"", "#quot;").Replace(s)
}
