package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// lineWidth is the width of a plain terminal.
const lineWidth = 80

// WriteStory tells a trace in plain words: when, who, what. Events without words
// are left out, and equal ones in a row are told once. Lines are wrapped at 80
// columns and indented by two. At most the given number of events is told, from
// the beginning and the end; zero means all.
func WriteStory(b *strings.Builder, records []engine.Record, most int) {
	told := tellable(records)
	actors := 0
	for _, t := range told {
		actors = max(actors, len(t.actor))
	}
	actors = min(actors, widestActor)
	head, tail := len(told), 0
	if most > 0 && len(told) > most {
		head = most / 3
		tail = most - head
	}
	for _, t := range told[:head] {
		t.write(b, actors)
	}
	if tail == 0 {
		return
	}
	fmt.Fprintf(b, "  %9s  … %s; the replay tells them all …\n", "", Count(len(told)-head-tail, "more event"))
	for _, t := range told[len(told)-tail:] {
		t.write(b, actors)
	}
}

// widestActor is the width of the column of actors at most.
const widestActor = 20

// event is one line of a story.
type event struct {
	at          time.Duration
	actor, text string
	times       int
}

// tellable picks the events that have words.
func tellable(records []engine.Record) []event {
	var told []event
	for _, r := range records {
		if r.Detail == "" {
			continue
		}
		e := event{at: r.At, actor: r.Actor, text: r.Detail, times: 1}
		if r.Kind == "prop" {
			e.actor = "" // its name is in the text
		}
		if n := len(told); n > 0 && told[n-1].actor == e.actor && told[n-1].text == e.text {
			told[n-1].times++
			continue
		}
		told = append(told, e)
	}
	return told
}

func (e event) write(b *strings.Builder, actors int) {
	text := e.text
	if e.times > 1 {
		text += fmt.Sprintf(" (%d times)", e.times)
	}
	prefix := fmt.Sprintf("  %9s  %-*s  ", clockText(e.at), actors, clip(e.actor, max(actors, 1)))
	b.WriteString(form.Wrap(prefix, text, lineWidth))
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
