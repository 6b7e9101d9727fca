// Package order iterates over maps.
package order

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

type peer struct {
	name  string
	alive bool
	seen  time.Time
	tags  map[string]bool
}

func (p *peer) label() string { return strings.ToUpper(p.name) + fmt.Sprint(p.alive) }

type table struct {
	mu    sync.Mutex
	peers map[string]*peer
	count int
	limit int
	names []string
}

func (t *table) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for range t.peers {
		n++
	}
	return n
}

func counting(m map[string]int) (n, sum, mask, biggest int, found bool) {
	for _, v := range m {
		n++
		sum += v
		mask |= v
		biggest = max(biggest, v)
		if v == 7 {
			found = true
		}
	}
	return
}

func latest(m map[string]*peer) (t time.Time, least string) {
	for k, p := range m {
		if p.seen.After(t) {
			t = p.seen
		}
		if k < least {
			least = k
		}
	}
	return
}

func sortedAfter(m map[string]*peer) []string {
	var names []string
	for k, p := range m {
		if !p.alive {
			continue
		}
		names = append(names, k+p.label())
	}
	if len(names) == 0 {
		return nil
	}
	sort.Strings(names)
	return names
}

func sortedOutside(m map[string]map[string]int) []string {
	var names []string
	for ns, inner := range m {
		for name := range inner {
			names = append(names, ns+"/"+name)
		}
	}
	slices.Sort(names)
	return names
}

type byName []*peer

func (b byName) Len() int           { return len(b) }
func (b byName) Less(i, j int) bool { return b[i].name < b[j].name }
func (b byName) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func sortedByType(m map[string]*peer) []*peer {
	var out []*peer
	for _, p := range m {
		out = append(out, p)
	}
	sort.Sort(byName(out))
	return out
}

func sortPeers(list []*peer) {}

func (t *table) sortedField() {
	t.names = nil
	for k := range t.peers {
		if t.limit > 0 {
			t.names = append(t.names, k)
		}
	}
	slices.Sort(t.names)
}

func sortedByHelper(m map[string]*peer) []*peer {
	var out []*peer
	for p := range maps.Values(m) {
		out = append(out, p)
	}
	sortPeers(out)
	return out
}

func iterators(m map[string]int) ([]string, map[string]int) {
	keys := slices.Collect(maps.Keys(m))
	slices.Sort(keys)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		keys = append(keys, k)
	}
	return keys, maps.Collect(maps.All(m))
}

func copies(m map[string]int) map[string][]int {
	out := make(map[string][]int, len(m))
	for k, v := range m {
		if _, ok := out[k]; !ok {
			out[k] = append(out[k], v)
		}
	}
	return out
}

func nestedCopies(m map[string]map[string]int) map[string]map[string]int {
	out := map[string]map[string]int{}
	for k, inner := range m {
		out[k] = map[string]int{}
		for k2, v := range inner {
			out[k][k2] = v
		}
	}
	return out
}

func deletes(m, other map[string]int, dead map[string]bool) {
	for k, v := range m {
		if v == 0 {
			delete(m, k)
		} else {
			m[k] = v - 1
		}
		delete(other, fmt.Sprint(v))
	}
	for k := range dead {
		delete(m, k)
	}
}

func members(m map[string]string) (map[string]bool, sets.Set[string]) {
	values, set := map[string]bool{}, sets.New[string]()
	for _, v := range m {
		values[v] = true
		set.Insert(v, "x")
	}
	return values, set
}

func elements(m map[string]*peer, now time.Time) {
	for _, p := range m {
		p.alive = true
		p.seen = now
		p.name = p.name + "!"
	}
}

func values(m map[string]peer) map[string]string {
	out := map[string]string{}
	for k, p := range m {
		p.name = k
		tags := []string{}
		for tag := range p.tags {
			tags = append(tags, tag)
		}
		sort.Slice(tags, func(i, j int) bool { return tags[i] < tags[j] })
		out[k] = p.label() + strings.Join(tags, ",")
	}
	return out
}

func exists(m map[string]int) bool {
	for k, v := range m {
		if strings.HasPrefix(k, "a") && v > 3 {
			return true
		}
	}
	return false
}

func flagged(m map[string]int) (found bool) {
	for _, v := range m {
		switch v {
		case 1:
			continue
		case 2:
			break
		}
		if v == 3 {
			found = true
			break
		}
	}
	return found
}

func generic[M ~map[K]V, K comparable, V any](m M) int {
	n := 0
	for range m {
		n++
		fmt.Println("an element")
	}
	return n
}

func (t *table) fieldCount() {
	for _, p := range t.peers {
		if p.alive && t.limit > 3 {
			t.count++
		}
	}
}

func sorted(list []string) []string { slices.Sort(list); return list }

func plain(s string) bool {
	for s != "" {
		s = s[1:]
	}
	return true
}

func sortedByResult(a, b map[string]int) []string {
	var errs []string
	skip := func(k string) bool { return strings.HasPrefix(k, "x") || !plain(k) }
	for k := range a {
		if skip(k) {
			continue
		}
		errs = append(errs, k)
	}
	for k := range b {
		errs = append(errs, k)
	}
	errs = append(errs, "always")
	return sorted(errs)
}

func checked(m map[string]int) []string {
	for k := range m {
		if !plain(k) {
			return sorted(nil) // the same for any element
		}
	}
	return nil
}

func equal(a, b any) bool {
	x, ok := a.(map[string]any)
	y, _ := b.(map[string]any)
	return ok && equalBy(x, y, equal)
}

func equalBy(x, y map[string]any, eq func(a, b any) bool) bool {
	return len(x) == len(y) && eq(x[""], y[""])
}

func allEqual(x, y map[string]any) bool {
	for k, v := range x {
		if !equal(v, y[k]) || equalBy(x, y, func(any, any) bool { return true }) {
			return false
		}
	}
	return true
}

func small(m map[string]int) bool {
	size := 0
	for k, v := range m {
		if !plain(k) {
			return false
		}
		size += v
	}
	return size < 3
}

func merged(content, patch map[string]any) map[string]any {
	out := maps.Clone(content)
	for k, v := range patch {
		inner, isMap := v.(map[string]any)
		switch {
		case v == nil:
			delete(out, k)
		case isMap:
			below, _ := out[k].(map[string]any)
			out[k] = merged(below, inner)
		default:
			out[k] = v
		}
	}
	return out
}
