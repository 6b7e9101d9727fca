package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Story tells a trace in plain words, one line per event: when, who, what.
// Events without words are left out.
func Story(records []engine.Record) []string {
	wide := 0
	for _, r := range records {
		if r.Detail != "" {
			wide = max(wide, len(r.Actor))
		}
	}
	var lines []string
	for _, r := range records {
		if r.Detail == "" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%12s  %-*s  %s", clockText(r.At), wide, r.Actor, r.Detail))
	}
	return lines
}

// clockText prints virtual time as minutes, seconds and milliseconds.
func clockText(d time.Duration) string {
	us := d.Microseconds()
	return fmt.Sprintf("%d:%02d.%06d", us/60_000_000, us/1_000_000%60, us%1_000_000)
}

// abridge keeps the ends of a long story.
func abridge(lines []string, keep int) []string {
	if len(lines) <= keep {
		return lines
	}
	head := keep / 3
	tail := keep - head
	out := append([]string(nil), lines[:head]...)
	out = append(out, fmt.Sprintf("%12s  … %d more lines; replay the file to see them …", "", len(lines)-keep))
	return append(out, lines[len(lines)-tail:]...)
}

// indent puts two blanks before each line.
func indent(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("  " + l + "\n")
	}
	return b.String()
}
