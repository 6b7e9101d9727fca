package conformance

import (
	"fmt"
	"sort"
	"strings"
)

// status compares a Status body: an error, or the Success of a delete. Only the
// members that the record names are looked at, and those that it leaves out
// must be missing or empty.
func (c *comparison) status(at string, want map[string]any, body any) {
	got, ok := body.(map[string]any)
	if !ok {
		c.add(Difference{Field: at, Want: show(want), Got: show(body)})
		return
	}
	for _, member := range []string{"status", "reason", "code", "metadata"} {
		c.value(at+"."+member, orAbsent(want, member), orAbsent(got, member))
	}
	c.message(at+".message", want["message"], got["message"])
	if _, ok := want["message"]; ok || want["details"] != nil {
		c.details(at+".details", want["details"], got["details"])
	}
}

// orAbsent reads an empty metadata as none: the server always sends "{}" there.
func orAbsent(m map[string]any, member string) any {
	v, ok := m[member]
	if inner, isMap := v.(map[string]any); !ok || (isMap && len(inner) == 0) {
		return Absent
	}
	return v
}

func (c *comparison) details(at string, want, got any) {
	w, inWant := want.(map[string]any)
	g, inGot := got.(map[string]any)
	if !inWant || !inGot {
		// Absent and {} differ on the wire but not to any client.
		if len(w)+len(g) > 0 {
			c.add(Difference{Field: at, Want: show(want), Got: show(got)})
		}
		return
	}
	for _, member := range []string{"kind", "group", "name", "uid", "retryAfterSeconds"} {
		c.value(at+"."+member, orAbsent(w, member), orAbsent(g, member))
	}
	c.causes(at+".causes", w["causes"], g["causes"])
}

// causes compares them sorted by field and message, as the README asks.
func (c *comparison) causes(at string, want, got any) {
	w, g := causeList(want), causeList(got)
	if len(w) != len(g) {
		c.add(Difference{Field: at, Want: show(w), Got: show(g)})
		return
	}
	for i := range w {
		place := fmt.Sprintf("%s[%d]", at, i)
		for _, member := range []string{"field", "reason"} {
			c.value(place+"."+member, orAbsent(w[i], member), orAbsent(g[i], member))
		}
		c.message(place+".message", w[i]["message"], g[i]["message"])
	}
}

func causeList(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if cause, ok := item.(map[string]any); ok {
			out = append(out, cause)
		}
	}
	key := func(m map[string]any) string { return fmt.Sprint(m["field"], "\x00", m["message"]) }
	sort.SliceStable(out, func(i, j int) bool { return key(out[i]) < key(out[j]) })
	return out
}

// message compares texts, if there is one on record. A difference is soft.
func (c *comparison) message(at string, want, got any) {
	w, ok := want.(string)
	if !ok {
		return
	}
	g, _ := got.(string)
	if c.dumps {
		w, g = beforeDump(w), beforeDump(g)
	}
	if w == g {
		return
	}
	why := ""
	if hasSymbol(w) {
		if why = c.symbols.match(at, w, g); why == "" {
			return
		}
	}
	c.add(Difference{Field: at, Want: w, Got: g, Why: why, Soft: true})
}

func beforeDump(s string) string {
	if i := strings.IndexAny(s, "{\n"); i >= 0 {
		return s[:i]
	}
	return s
}
