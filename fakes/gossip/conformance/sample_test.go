package conformance

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// sample is what many runs of one script yielded on one arm. Times are in
// milliseconds, so that the file with the recorded ones stays readable.
type sample struct {
	Runs  int                       `json:"runs"`
	Flags map[string]int            `json:"flags,omitempty"` // how often true
	Times map[string][]int64        `json:"times,omitempty"` // -1 for never; sorted
	Lists map[string]map[string]int `json:"lists,omitempty"`
}

func (s *sample) add(m measures) {
	if s.Runs == 0 {
		s.Flags, s.Times, s.Lists = map[string]int{}, map[string][]int64{}, map[string]map[string]int{}
	}
	s.Runs++
	for name, v := range m.flags {
		s.Flags[name] += map[bool]int{true: 1}[v]
	}
	for name, v := range m.times {
		ms := int64(-1)
		if v != never {
			ms = v.Milliseconds()
		}
		s.Times[name] = append(s.Times[name], ms)
		slices.Sort(s.Times[name])
	}
	for name, v := range m.lists {
		if s.Lists[name] == nil {
			s.Lists[name] = map[string]int{}
		}
		s.Lists[name][v]++
	}
}

// verdict compares the two arms on one measure.
type verdict struct {
	measure     string
	model, real string
	p           float64 // how likely such a difference is if there is none
}

// compare yields one verdict per measure, in the order of the names.
func compare(model, library *sample) []verdict {
	var out []verdict
	for _, name := range sortedKeys(library.Flags) {
		out = append(out, verdict{
			name, share(model.Flags[name], model.Runs), share(library.Flags[name], library.Runs),
			fisher(model.Flags[name], model.Runs, library.Flags[name], library.Runs),
		})
	}
	for _, name := range sortedKeys(library.Times) {
		a, b := model.Times[name], library.Times[name]
		p := min(kolmogorov(a, b), fisher(count(a, -1), len(a), count(b, -1), len(b)))
		out = append(out, verdict{name, spread(a), spread(b), p})
	}
	for _, name := range sortedKeys(library.Lists) {
		p := 1.0
		for _, text := range sortedKeys(union(model.Lists[name], library.Lists[name])) {
			p = min(p, fisher(model.Lists[name][text], model.Runs, library.Lists[name][text], library.Runs))
		}
		out = append(out, verdict{name, most(model.Lists[name]), most(library.Lists[name]), p})
	}
	return out
}

func count(ms []int64, v int64) int {
	n := 0
	for _, x := range ms {
		if x == v {
			n++
		}
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func union(a, b map[string]int) map[string]int {
	all := make(map[string]int)
	for _, m := range []map[string]int{a, b} {
		for k, v := range m {
			all[k] += v
		}
	}
	return all
}

func share(hits, of int) string { return fmt.Sprintf("%d/%d", hits, of) }

// spread renders times: how many are never, then min, median, 90th percentile
// and max of the rest.
func spread(ms []int64) string {
	finite := slices.DeleteFunc(slices.Clone(ms), func(v int64) bool { return v < 0 })
	var b strings.Builder
	if lost := len(ms) - len(finite); lost > 0 {
		fmt.Fprintf(&b, "never %d/%d ", lost, len(ms))
	}
	if n := len(finite); n > 0 {
		at := func(q float64) string {
			d := time.Duration(finite[int(q*float64(n-1)+0.5)]) * time.Millisecond
			return fmt.Sprintf("%.4gs", d.Seconds())
		}
		fmt.Fprintf(&b, "%s | %s | %s | %s", at(0), at(0.5), at(0.9), at(1))
	}
	return strings.TrimSpace(b.String())
}

// most renders the most frequent outcome.
func most(m map[string]int) string {
	best, total := "", 0
	for _, k := range sortedKeys(m) {
		total += m[k]
		if best == "" || m[k] > m[best] {
			best = k
		}
	}
	return fmt.Sprintf("%q %d/%d", best, m[best], total)
}

// fisher is the two-sided exact test for two shares.
func fisher(a, n, b, m int) float64 {
	choose := func(n, k int) float64 {
		lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
		return lg(n) - lg(k) - lg(n-k)
	}
	prob := func(x int) float64 { // of x hits among the first n, given a+b in all
		return math.Exp(choose(n, x) + choose(m, a+b-x) - choose(n+m, a+b))
	}
	seen, p := prob(a), 0.0
	for x := max(0, a+b-m); x <= min(n, a+b); x++ {
		if q := prob(x); q <= seen*(1+1e-9) {
			p += q
		}
	}
	return min(1, p)
}

// kolmogorov is the two-sample Kolmogorov-Smirnov test; never counts as longer
// than anything. Differences below a tenth of a second do not count: the arms
// need not agree on milliseconds.
func kolmogorov(a, b []int64) float64 {
	grid := func(v []int64) []int64 {
		out := make([]int64, len(v))
		for i, ms := range v {
			if out[i] = ms / 100; ms < 0 {
				out[i] = math.MaxInt64
			}
		}
		slices.Sort(out)
		return out
	}
	x, y := grid(a), grid(b)
	var d float64
	for i, j := 0, 0; i < len(x) && j < len(y); {
		v := min(x[i], y[j])
		for i < len(x) && x[i] == v {
			i++
		}
		for j < len(y) && y[j] == v {
			j++
		}
		d = max(d, math.Abs(float64(i)/float64(len(x))-float64(j)/float64(len(y))))
	}
	n := math.Sqrt(float64(len(x)*len(y)) / float64(len(x)+len(y)))
	z := (n + 0.12 + 0.11/n) * d
	var p float64
	for k := 1; k <= 100; k++ {
		sign := 2.0
		if k%2 == 0 {
			sign = -2
		}
		p += sign * math.Exp(-2*float64(k*k)*z*z)
	}
	if z < 0.2 {
		return 1
	}
	return max(0, min(1, p))
}
