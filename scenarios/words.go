package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// Count is a number with its noun: 1 run, 20 runs, 1,000 runs.
func Count[N ~int | ~int64 | ~uint64](n N, noun string) string {
	plural := noun + "s"
	switch {
	case n == 1:
		plural = noun
	case strings.HasSuffix(noun, "y"):
		plural = strings.TrimSuffix(noun, "y") + "ies"
	case strings.HasSuffix(noun, "ch"):
		plural = noun + "es"
	}
	return thousands(uint64(n)) + " " + plural
}

// thousands groups digits: 12,345.
func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// merge joins two sorted lists.
func merge(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Roughly is a long duration in few words: 42s, 3m20s, 5h12m, 3.2 days.
func Roughly(d time.Duration) string {
	switch {
	case d < time.Hour:
		return shortDuration(d.Round(time.Second))
	case d < 48*time.Hour:
		return shortDuration(d.Round(time.Minute))
	}
	return fmt.Sprintf("%d.%d days", d/(24*time.Hour), d%(24*time.Hour)*10/(24*time.Hour))
}

// clockText is virtual time in a story: 0:12.345.
func clockText(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%d:%02d.%03d", ms/60_000, ms/1000%60, ms%1000)
}

// clip cuts a text at a width.
func clip(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

// capital writes the first letter large.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Wrap breaks a text into lines that begin in the column behind first, which stands
// before it.
func Wrap(first, text string) string { return form.Wrap(first, text, lineWidth) }
