package shrink

import (
	"hash/fnv"
	"io"
	"slices"
	"strconv"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// reduce takes stretches of items away, long ones first and from the end, as long
// as try accepts what is left, until over. It returns what is left at last.
func reduce[T any](items []T, over func() bool, try func([]T) bool) []T {
	for size := (len(items) + 1) / 2; size >= 1; size /= 2 {
		for end := len(items); end > 0 && !over(); {
			start := max(end-size, 0)
			if rest := slices.Concat(items[:start], items[end:]); try(rest) {
				items = rest
			}
			end = start
		}
	}
	return items
}

// descend looks for a smaller number that try accepts: least itself, and else by
// steps that halve, until over.
func descend(n, least uint64, over func() bool, try func(uint64) bool) {
	if n <= least || over() || try(least) {
		return
	}
	for step := n / 2; step >= 1 && !over(); step /= 2 {
		for n > least+step && try(n-step) {
			n -= step
		}
	}
}

// groups returns the different keys of items, in order of first appearance.
func groups[T any](items []T, key func(T) string) []string {
	var keys []string
	seen := map[string]bool{}
	for _, it := range items {
		if k := key(it); !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	return keys
}

// only returns the items that are wanted.
func only[T any](items []T, want func(T) bool) []T {
	var out []T
	for _, it := range items {
		if want(it) {
			out = append(out, it)
		}
	}
	return out
}

// normal joins neighbouring blocks of one task and drops what says nothing.
func normal(s engine.Schedule) engine.Schedule {
	var blocks []engine.Block
	for _, b := range s.Blocks {
		if n := len(blocks); n > 0 && blocks[n-1].Task == b.Task && b.Steps > 0 {
			blocks[n-1].Steps += b.Steps
		} else if b.Steps > 0 {
			blocks = append(blocks, b)
		}
	}
	s.Blocks = blocks
	s.Picks = only(s.Picks, func(p engine.Pick) bool { return p.Value != 0 })
	return s
}

// fingerprint tells schedules apart.
func fingerprint(s engine.Schedule) uint64 {
	h := fnv.New64a()
	var b []byte
	for _, k := range s.Blocks {
		b = append(append(b[:0], k.Task...), 0)
		b = strconv.AppendInt(b, int64(k.Steps), 10)
		_, _ = h.Write(append(b, 1))
	}
	for _, p := range s.Picks {
		b = append(append(b[:0], p.Label...), 0)
		b = strconv.AppendUint(b, p.Nth, 10)
		b = strconv.AppendUint(append(b, 0), p.Value, 10)
		_, _ = h.Write(append(b, 2))
	}
	_, _ = io.WriteString(h, strconv.FormatUint(s.Entropy, 10))
	return h.Sum64()
}
