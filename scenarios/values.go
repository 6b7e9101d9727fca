package scenarios

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// Syntax describes how a scalar is written: see [Duration] for an example. A
// system's own scalar types implement ParseText and, for messages and editors,
// Syntax.
type Syntax = form.Syntax

// Duration is a length of virtual time: 250ms, 30s, 1m30s, 2h.
type Duration time.Duration

// Std is d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d the way a scenario does, without zero units.
func (d Duration) String() string { return shortDuration(time.Duration(d)) }

// ParseText reads a duration. A bare number is refused: its unit would be a
// guess.
func (d *Duration) ParseText(text string) error {
	v, err := parseDuration(text)
	if err != nil {
		return err
	}
	*d = Duration(v)
	return nil
}

const durationPattern = `([0-9]+(\.[0-9]+)?(ms|s|m|h))+`

// Syntax implements the description for messages and the schema.
func (Duration) Syntax() Syntax {
	return Syntax{Doc: "a duration such as 250ms, 30s or 1m30s", Pattern: "^" + durationPattern + "$", Examples: []string{"250ms", "30s", "1m30s"}}
}

// Span is a duration that each run draws anew: 30s is always 30 s, 0s..30s is
// anything between, both ends included.
type Span struct{ Min, Max time.Duration }

// ParseText reads one duration or two joined by "..".
func (s *Span) ParseText(text string) error {
	from, to, isRange := strings.Cut(text, "..")
	low, err := parseDuration(from)
	if err != nil {
		return err
	}
	high := low
	if isRange {
		if high, err = parseDuration(to); err != nil {
			return err
		}
	}
	if high < low {
		return fmt.Errorf("the range %q ends before it begins", text)
	}
	*s = Span{low, high}
	return nil
}

// String writes the span the way a scenario does.
func (s Span) String() string {
	if s.Min == s.Max {
		return shortDuration(s.Min)
	}
	return shortDuration(s.Min) + ".." + shortDuration(s.Max)
}

// Syntax implements the description for messages and the schema.
func (Span) Syntax() Syntax {
	return Syntax{Doc: "a duration such as 30s, or a range such as 0s..30s from which each run draws",
		Pattern: "^" + durationPattern + `(\.\.` + durationPattern + ")?$", Examples: []string{"30s", "0s..30s"}}
}

// Offset is a signed duration: +5s, -2m.
type Offset time.Duration

// ParseText reads a duration with an optional sign.
func (o *Offset) ParseText(text string) error {
	rest, negative := strings.CutPrefix(text, "-")
	if !negative {
		rest = strings.TrimPrefix(text, "+")
	}
	v, err := parseDuration(rest)
	if err != nil {
		return err
	}
	if negative {
		v = -v
	}
	*o = Offset(v)
	return nil
}

// String writes the offset with its sign.
func (o Offset) String() string {
	if o < 0 {
		return "-" + shortDuration(time.Duration(-o))
	}
	return "+" + shortDuration(time.Duration(o))
}

// Syntax implements the description for messages and the schema.
func (Offset) Syntax() Syntax {
	return Syntax{Doc: "a signed duration such as +5s or -2m", Pattern: `^[+-]?` + durationPattern + "$", Examples: []string{"+5s", "-2m"}}
}

// Rate is a probability in parts per million, written as a percentage.
type Rate uint32

// ParseText reads a percentage with at most four decimals.
func (r *Rate) ParseText(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	value, ok := parseDecimal(number)
	switch {
	case !ok && percent:
		return fmt.Errorf("%q is not a percentage such as 5%% or 0.1%%", text)
	case !ok:
		return fmt.Errorf("%q is not a rate; write a percentage such as 5%% or 0.1%%", text)
	case !percent && value.Cmp(big.NewRat(1, 1)) <= 0:
		return fmt.Errorf("%q has no unit; write a percentage: %s", text, percentOf(value))
	case !percent:
		return fmt.Errorf("%q has no unit; write a percentage such as 5%% or 0.1%%", text)
	}
	ppm := new(big.Rat).Mul(value, big.NewRat(10_000, 1))
	switch {
	case value.Cmp(big.NewRat(100, 1)) > 0:
		return fmt.Errorf("%q is more than 100%%", text)
	case !ppm.IsInt():
		return fmt.Errorf("%q is finer than 0.0001%%, the smallest rate", text)
	}
	*r = Rate(ppm.Num().Uint64())
	return nil
}

// String writes the rate as a percentage.
func (r Rate) String() string { return percentOf(big.NewRat(int64(r), 1_000_000)) }

// Syntax implements the description for messages and the schema.
func (Rate) Syntax() Syntax {
	return Syntax{Doc: "a percentage such as 5% or 0.1%", Pattern: `^[0-9]+(\.[0-9]{1,4})?%$`, Examples: []string{"5%", "0.1%"}}
}

func percentOf(fraction *big.Rat) string {
	text := new(big.Rat).Mul(fraction, big.NewRat(100, 1)).FloatString(4)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "%"
}

var decimal = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9})?$`)

func parseDecimal(text string) (*big.Rat, bool) {
	if !decimal.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

var (
	wholeDuration = regexp.MustCompile("^" + durationPattern + "$")
	numberOnly    = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	numberAndWord = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([\pL]+)$`)
)

// unitNames are the words people write for the four units.
var unitNames = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hour": "h", "hours": "h", "hr": "h", "hrs": "h",
	"msec": "ms", "msecs": "ms", "millis": "ms", "millisecond": "ms", "milliseconds": "ms",
	"ms": "ms", "s": "s", "m": "m", "h": "h",
}

func parseDuration(text string) (time.Duration, error) {
	if wholeDuration.MatchString(text) {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%q is longer than can be simulated", text)
		}
		return d, nil
	}
	const units = "the units are ms, s, m and h"
	if text == "" {
		return 0, errors.New("a duration is missing; write one such as 30s")
	}
	if numberOnly.MatchString(text) {
		return 0, fmt.Errorf("%q has no unit; write %ss, %sm or another duration: %s", text, text, text, units)
	}
	if match := numberAndWord.FindStringSubmatch(text); match != nil {
		if unit, ok := unitNames[strings.ToLower(match[2])]; ok {
			return 0, fmt.Errorf("%q is not a duration; write %s%s: %s", text, match[1], unit, units)
		}
		return 0, fmt.Errorf("%q has the unknown unit %q: %s", text, match[2], units)
	}
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("%q is negative; a duration is not", text)
	}
	return 0, fmt.Errorf("%q is not a duration such as 250ms, 30s or 1m30s: %s", text, units)
}

// shortDuration is d without trailing zero units: 1m rather than 1m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Drift is by how much a clock runs fast (+) or slow (-), in parts per million.
type Drift int64

// maxDrift keeps clocks running forwards.
const maxDrift = 500_000

// ParseText reads a signed number of parts per million.
func (d *Drift) ParseText(text string) error {
	number, ok := strings.CutSuffix(text, "ppm")
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case !ok || err != nil:
		return fmt.Errorf("%q is not a drift; write parts per million such as +200ppm", text)
	case n < -maxDrift || n > maxDrift:
		return fmt.Errorf("%q is more than ±%dppm", text, maxDrift)
	}
	*d = Drift(n)
	return nil
}

// String writes the drift with its sign.
func (d Drift) String() string { return fmt.Sprintf("%+dppm", int64(d)) }

// Syntax implements the description for messages and the schema.
func (Drift) Syntax() Syntax {
	return Syntax{Doc: "a drift such as +200ppm", Pattern: `^[+-]?[0-9]+ppm$`, Examples: []string{"+200ppm"}}
}
