package fidelity

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// Shrink looks for a smaller case that diverges in the same way: the same verb
// and resource, the same field. Diverges runs a case and returns its divergence,
// or nil. Steps go first, then parts of what they send.
func Shrink(ctx context.Context, d *Divergence, diverges func(context.Context, *conformance.Case) *Divergence) *Divergence {
	s := &shrinking{best: d, try: func(c *conformance.Case) *Divergence {
		if ctx.Err() != nil {
			return nil
		}
		if found := diverges(ctx, c); found != nil && found.Signature() == d.Signature() {
			return found
		}
		return nil
	}}
	for s.steps() || s.parts() {
		if ctx.Err() != nil {
			break
		}
	}
	return s.best
}

// Signature is equal for divergences that look like one fault.
func (d *Divergence) Signature() string {
	s, first := d.Step, d.Differences[0]
	signature := s.Verb + " " + s.Resource + " " + s.Subresource + " " + s.Patch + " " + shape(first.Field)
	if first.Field == "code" {
		got, _, _ := strings.Cut(first.Got, " ")
		signature += " " + first.Want + " " + got
	}
	return signature
}

// shape is a field without indexes.
func shape(field string) string {
	var out []rune
	skip := false
	for _, r := range field {
		switch {
		case r == '[':
			skip = true
		case r == ']':
			skip = false
			continue
		}
		if !skip || r == '[' {
			out = append(out, r)
		}
	}
	return string(out)
}

type shrinking struct {
	best *Divergence
	try  func(*conformance.Case) *Divergence
}

// steps leaves out steps, many at once and then single ones, the last excepted.
func (s *shrinking) steps() bool {
	shrunk := false
	for size := len(s.best.Case.Steps) / 2; size > 0; size /= 2 {
		for at := len(s.best.Case.Steps) - 1 - size; at >= 0; at -= size {
			if at+size > len(s.best.Case.Steps)-1 {
				continue
			}
			c := bare(s.best.Case)
			if slices.ContainsFunc(c.Steps[at:at+size], func(s conformance.Step) bool { return s.Note == setUp }) {
				continue // a real server has made that, and keeps it
			}
			c.Steps = slices.Delete(c.Steps, at, at+size)
			if found := s.try(c); found != nil {
				s.best, shrunk = found, true
			}
		}
	}
	return shrunk
}

// parts leaves out members of queries and bodies.
func (s *shrinking) parts() bool {
	for i := range s.best.Case.Steps {
		if s.best.Case.Steps[i].Note == setUp {
			continue
		}
		for _, without := range smaller(&s.best.Case.Steps[i]) {
			c := bare(s.best.Case)
			c.Steps[i] = without
			if found := s.try(c); found != nil {
				s.best = found
				return true
			}
		}
	}
	return false
}

// smaller are variants of a step that send less.
func smaller(s *conformance.Step) []conformance.Step {
	var out []conformance.Step
	for _, k := range slices.Sorted(maps.Keys(s.Query)) {
		v := *s
		v.Query = maps.Clone(s.Query)
		delete(v.Query, k)
		out = append(out, v)
	}
	if s.UserAgent != "" {
		v := *s
		v.UserAgent = ""
		out = append(out, v)
	}
	for _, body := range withoutOne(s.Body) {
		v := *s
		v.Body = body
		out = append(out, v)
	}
	return out
}

// withoutOne are variants of a value, each without one member or element.
func withoutOne(v any) []any {
	var out []any
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "${base}" || k == "apiVersion" || k == "kind" {
				continue
			}
			less := maps.Clone(v)
			delete(less, k)
			out = append(out, less)
			for _, inner := range withoutOne(v[k]) {
				less := maps.Clone(v)
				less[k] = inner
				out = append(out, less)
			}
		}
	case []any:
		for i := range v {
			out = append(out, slices.Delete(slices.Clone(v), i, i+1))
			for _, inner := range withoutOne(v[i]) {
				less := slices.Clone(v)
				less[i] = inner
				out = append(out, less)
			}
		}
	}
	return out
}

// bare is a copy of a case without its expectations.
func bare(c *conformance.Case) *conformance.Case {
	out := *c
	out.Steps = slices.Clone(c.Steps)
	for i := range out.Steps {
		out.Steps[i].Expect, out.Steps[i].Show, out.Steps[i].Count = nil, nil, 0
	}
	return &out
}
