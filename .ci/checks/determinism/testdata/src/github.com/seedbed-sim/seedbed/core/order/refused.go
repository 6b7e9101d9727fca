package order

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func unsorted(m map[string]int) []string {
	var keys []string
	for k := range m { // want `the order of map m is visible: line 15 collects into keys, which is not sorted right after; range over slices.Sorted\(maps.Keys\(m\)\) instead \[order\]`
		keys = append(keys, k)
	}
	return keys
}

func sortedTooLate(m map[string]int) []string {
	var keys []string
	for k := range m { // want `collects into keys, which is not sorted right after`
		keys = append(keys, k)
	}
	fmt.Println(keys)
	slices.Sort(keys)
	return keys
}

func sortedInLoop(ms []map[string]int) {
	var keys []string
	for _, m := range ms {
		fmt.Println(keys)
		for k := range m { // want `collects into keys, which is not sorted right after`
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
}

func calls(m map[string]int, visit func(string)) {
	for k := range m { // want `line 43 calls visit, whose effects would come in map order`
		visit(k)
	}
	for k, v := range m { // want `calls fmt.Println, whose effects`
		fmt.Println(k, v)
	}
}

func (t *table) touch(p *peer) { t.count++ }

func indirect(t *table) {
	for _, p := range t.peers { // want `calls t.touch, whose effects`
		t.touch(p)
	}
}

func lastWins(m map[string]int) (last string) {
	for k := range m { // want `writes last, so the last element wins`
		last = k
	}
	return last
}

func firstWins(m map[string]int) string {
	for k := range m { // want `returns what the first element met happens to be`
		return k
	}
	return ""
}

func firstError(m map[string]int) error {
	for _, v := range m { // want `leaves the loop in another way than before, so the first element met decides`
		if v == 1 {
			return errors.New("one")
		}
		if v == 2 {
			return errors.New("two")
		}
	}
	return nil
}

func partial(m map[string]int) (n int) {
	for _, v := range m { // want `writes n in a loop that ends early`
		n += v
		if v == 3 {
			break
		}
	}
	return n
}

func innerBreak(m map[string]map[string]int) (n int) {
	for _, inner := range m { // want `writes n in a loop that ends early`
		for _, v := range inner { // want `writes n in a loop that ends early`
			n += v
			break
		}
	}
	return n
}

func running(m map[string]int) map[string]int {
	out, n := map[string]int{}, 0
	for k := range m { // want `reads n, which the loop also writes`
		n++
		out[k] = n
	}
	return out
}

func firstFlag(m map[string]int) {
	first := true
	for k := range m { // want `reads first, which the loop also writes`
		if first {
			first = false
		} else {
			delete(m, k)
		}
	}
}

func twoFlags(m map[string]int) (state string) {
	for _, v := range m { // want `writes state in two ways whose order shows`
		if v == 1 {
			state = "one"
		} else {
			state = "other"
		}
	}
	return state
}

func joined(m map[string]string) (s string) {
	for _, v := range m { // want `joins strings in map order`
		s += v
	}
	return s
}

func rounded(m map[string]float64) (sum float64) {
	for _, v := range m { // want `adds floating-point numbers, whose rounding depends on the order`
		sum += v
	}
	return sum
}

func inverted(m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m { // want `writes out, so the last element wins`
		out[v] = k
	}
	return out
}

func grouped(m map[string]*peer) map[string][]*peer {
	out := map[string][]*peer{}
	for _, p := range m { // want `appends to out\[p.name\] in map order`
		out[p.name] = append(out[p.name], p)
	}
	return out
}

func grows(m map[string]bool) {
	for k := range m { // want `adds to the map while it ranges over it`
		m[k+"x"] = true
	}
	for k := range m { // want `changes the map it ranges over at another key`
		delete(m, k+"x")
	}
}

func shared(m map[string]*peer) {
	for k, p := range m { // want `writes through p, which two elements may share`
		p.name = k
	}
}

func outlives(m map[string]int) (k string) {
	for k = range m { // want `leaves its variables at the last element`
	}
	return k
}

func extremes(m map[string]int) (x int) {
	for _, v := range m { // want `writes x in two ways whose order shows`
		if v > x {
			x = v
		}
		x = min(x, v)
	}
	return x
}

func latestName(m map[string]*peer) (name string, at time.Time) {
	for k, p := range m { // want `writes at, so the last element wins`
		if p.seen.After(at) {
			at = p.seen
			name = k
		}
	}
	return
}

func builder(m map[string]int) string {
	var b strings.Builder
	for k := range m { // want `calls b.WriteString, whose effects`
		b.WriteString(k)
	}
	return b.String()
}

func iteratorsShown(m map[string]int) []string {
	for k := range maps.Keys(m) { // want `the order of map maps.Keys\(m\) is visible`
		fmt.Println(k)
	}
	seq := maps.Keys(m) // want `the order of maps.Keys is visible; use slices.Sorted\(maps.Keys\(m\)\)`
	_ = seq
	return slices.Collect(maps.Keys(m)) // want `the order of maps.Keys is visible`
}

func genericShown[M ~map[K]V, K comparable, V any](m M, visit func(K)) {
	for k := range m { // want `calls visit`
		visit(k)
	}
}

func literal(m map[string]int) {
	n := 0
	for k := range m { // want `writes to n`
		slices.ContainsFunc([]string{k}, func(string) bool { n++; return n > 1 })
	}
}

func labels(m map[string][]int) {
outer:
	for _, list := range m { // want `continues at a label`
		for range list {
			continue outer
		}
	}
}

func deferred(m map[string]func()) {
	for _, f := range m { // want `does something whose order shows`
		defer f()
	}
}

func grownThenShown(m map[string]int) []string {
	var keys []string
	for k := range m { // want `collects into keys, which is not sorted right after`
		keys = append(keys, k)
	}
	keys = append(keys, keys[0])
	return sorted(keys)
}

func changing(m map[string]int, other func(string) bool) bool {
	test := func(string) bool { return true }
	test = other
	for k := range m { // want `calls test, whose effects`
		if test(k) {
			return true
		}
	}
	return false
}

func handed(x map[string]any, eq func(a, b any) bool) bool {
	for k, v := range x { // want `calls eq, whose effects`
		if eq(k, v) {
			return true
		}
	}
	for k := range x { // want `calls equalBy, whose effects`
		if k != "" && equalBy(x, x, eq) {
			return true
		}
	}
	return false
}

func remembered(m map[string]int) (size int, ok bool) {
	for _, v := range m { // want `writes size in a loop that ends early`
		if v == 0 {
			return size, false
		}
		size += v
	}
	return size, true
}

func leaked(t *table, m map[string]int) bool {
	for _, v := range m { // want `writes t.count in a loop that ends early`
		if v == 0 {
			return false
		}
		t.count += v
	}
	return true
}
