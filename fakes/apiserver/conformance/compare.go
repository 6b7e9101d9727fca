package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// A Difference is one place where an answer is not the recorded one.
type Difference struct {
	// Field is "code", "status.message", `fields["metadata.name"]`, …
	Field     string
	Want, Got string
	// Why says more where Want and Got do not show it.
	Why string
	// Soft marks texts of messages: they should agree, but a client that acts
	// on one is wrong.
	Soft bool
}

func (d Difference) String() string {
	s := fmt.Sprintf("%s: want %s, got %s", d.Field, clip(d.Want), clip(d.Got))
	if d.Why != "" {
		s += " (" + d.Why + ")"
	}
	return s
}

// clip makes of s a part of a line.
func clip(s string) string {
	const most = 600
	s = strings.ReplaceAll(s, "\n", `\n`)
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// comparison collects the differences of one step.
type comparison struct {
	symbols *symbols
	// dumps says that messages of this case hold printed Go structures, so that
	// only their beginning is compared.
	dumps bool
	diffs []Difference
}

func (c *comparison) add(d Difference) { c.diffs = append(c.diffs, d) }

// dumpCases are the cases whose messages the README exempts from the first "{"
// or line break on.
var dumpCases = map[string]bool{
	"049": true, "051": true, "058": true, "063": true, "064": true, "142": true, "162": true,
	"125": true, "212": true, "213": true, "220": true, "222": true, "225": true, "227": true,
}

// answer compares a whole answer with its record.
func (c *comparison) answer(want *Expect, got *Answer) {
	if want.Code != 0 && want.Code != got.Code {
		c.add(Difference{Field: "code", Want: fmt.Sprint(want.Code), Got: fmt.Sprintf("%d %s", got.Code, got.brief())})
		return // what follows is about another kind of answer
	}
	if !slices.Equal(want.Warnings, got.Warnings) {
		c.add(Difference{Field: "warnings", Want: show(want.Warnings), Got: show(got.Warnings)})
	}
	if want.RetryAfterHeader != got.RetryAfter {
		c.add(Difference{Field: "retryAfterHeader", Want: want.RetryAfterHeader, Got: got.RetryAfter})
	}
	if want.Text != nil && *want.Text != got.Text {
		c.add(Difference{Field: "text", Want: *want.Text, Got: got.Text})
	}
	if want.Status != nil {
		c.status("status", want.Status, got.Body)
	}
	c.fields("fields", want.Fields, got.Body)
}

// fields compares the shown paths of one object.
func (c *comparison) fields(place string, want map[string]any, body any) {
	for _, path := range slices.Sorted(maps.Keys(want)) {
		at := fmt.Sprintf("%s[%q]", place, path)
		got, err := Lookup(body, path)
		if err != nil {
			c.add(Difference{Field: at, Want: show(want[path]), Got: err.Error()})
			continue
		}
		w := want[path]
		if strings.Contains(path, "managedFields[*]") {
			w, got = sorted(w), sorted(got)
		}
		c.value(at, w, got)
	}
}

// value compares two decoded JSON values, reporting every differing leaf.
func (c *comparison) value(at string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			c.members(at, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			if strings.HasSuffix(at, `managedFields`) || strings.HasSuffix(at, `managedFields"]`) {
				w, g = sorted(w).([]any), sorted(g).([]any)
			}
			for i := range w {
				c.value(fmt.Sprintf("%s[%d]", at, i), w[i], g[i])
			}
			return
		}
	case string:
		if hasSymbol(w) {
			if why := c.symbols.match(at, w, plain(got)); why != "" {
				c.add(Difference{Field: at, Want: w, Got: show(got), Why: why})
			}
			return
		}
	}
	if !equalLeaf(want, got) {
		c.add(Difference{Field: at, Want: show(want), Got: show(got)})
	}
}

func (c *comparison) members(at string, want, got map[string]any) {
	keys := map[string]bool{}
	for k := range want {
		keys[k] = true
	}
	for k := range got {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		w, inWant := want[k]
		g, inGot := got[k]
		if !inWant {
			w = Absent
		}
		if !inGot {
			g = Absent
		}
		c.value(at+"."+k, w, g)
	}
}

// equalLeaf is equality, with numbers compared by value: 1 and 1.0 are one.
func equalLeaf(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, both := b.(json.Number)
	if isNumber && both {
		if x == y {
			return true
		}
		fx, errX := x.Float64()
		fy, errY := y.Float64()
		return errX == nil && errY == nil && fx == fy && !isBigInteger(x) && !isBigInteger(y)
	}
	return reflect.DeepEqual(a, b)
}

// isBigInteger: written out, and too long for a float64 to tell apart.
func isBigInteger(n json.Number) bool {
	return len(n) > 15 && strings.Trim(string(n), "-0123456789") == ""
}

// sorted orders a list by what does not differ from run to run.
func sorted(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := slices.Clone(list)
	sort.SliceStable(out, func(i, j int) bool { return sortKey(out[i]) < sortKey(out[j]) })
	return out
}

func sortKey(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return show(v)
	}
	stable := maps.Clone(m)
	delete(stable, "time")
	return show(stable)
}

// show prints a value on one line for a report.
func show(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(data)
}

// plain is the text a symbol is matched against: strings as they are, numbers
// as written.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	}
	return show(v)
}
