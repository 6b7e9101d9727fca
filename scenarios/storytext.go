package scenarios

import (
	"fmt"
	"strings"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// lineWidth is the width of a plain terminal.
const lineWidth = 80

// WriteStory tells a trace in plain words: when, who, what. Events without words
// are left out. Lines are wrapped at 80 columns and indented by two. At most the
// given number of events is told, from the beginning and the end; zero means all.
func WriteStory(b *strings.Builder, records []engine.Record, most int) {
	var told []engine.Record
	actors := 0
	for _, r := range records {
		if r.Detail != "" {
			told = append(told, r)
			actors = max(actors, len(r.Actor))
		}
	}
	actors = min(actors, 20)
	head, tail := len(told), 0
	if most > 0 && len(told) > most {
		head = most / 3
		tail = most - head
	}
	for _, r := range told[:head] {
		writeEvent(b, r, actors)
	}
	if tail == 0 {
		return
	}
	fmt.Fprintf(b, "  %9s  … %s more; the replay tells them all …\n", "", Count(len(told)-head-tail, "event"))
	for _, r := range told[len(told)-tail:] {
		writeEvent(b, r, actors)
	}
}

func writeEvent(b *strings.Builder, r engine.Record, actors int) {
	prefix := fmt.Sprintf("  %9s  %-*s  ", clockText(r.At), actors, clip(r.Actor, max(actors, 1)))
	b.WriteString(form.Wrap(prefix, r.Detail, lineWidth))
}

// Replay is the whole story of a repeated run and how it ended.
func (s Style) Replay(f *Failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seed %d\n\n", f.File.Metadata.Name, f.Seed)
	WriteStory(&b, f.Records, 0)
	b.WriteString("\n")
	switch f.Result {
	case Violated:
		fmt.Fprintf(&b, "%s\n", s.paint(red, "violates "+f.Property))
		b.WriteString(form.Wrap("  meaning  ", f.Meaning, lineWidth))
		b.WriteString(form.Wrap("  seen     ", "at "+clockText(f.At)+": "+f.Found, lineWidth))
	case Held:
		fmt.Fprintf(&b, "%s\n", s.paint(green, "no property was violated"))
	default:
		fmt.Fprintf(&b, "%s\n", s.paint(red, string(f.Result)))
	}
	fmt.Fprintf(&b, "  history  %s\n  hash     %016x after %s\n", size(f.Small), f.Hash, Count(f.Steps, "step"))
	return b.String()
}
