package state

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Phase is what the next configuration does.
type Phase string

// Phases of the life of a key, in their order. In each, every API server must run
// the configuration before the next begins.
const (
	// Waiting is for a key.
	Waiting Phase = "Waiting"

	// Reading lets every API server read what the new key will encrypt.
	Reading Phase = "Reading"

	// Writing lets every API server write with the new key.
	Writing Phase = "Writing"

	// Migrating is the rewriting of all objects with the new key.
	Migrating Phase = "Migrating"

	// Pruning takes away the keys that nothing is encrypted with any more.
	Pruning Phase = "Pruning"

	// Settled is when nothing is left to do.
	Settled Phase = "Settled"
)

// Desired returns the configuration that should be deployed when all API servers
// run current, and which phase that is. Current is nil if they run none; its keys
// are those of the configuration, enriched or not. Keys are backed. Grs are the
// resources that should be encrypted; if there are none, current stays.
//
// For each resource the result differs from current in at most one of three ways:
// keys are read that were not, another key writes, or keys are read no longer. An
// API server that runs the one can therefore read what another writes that runs the
// other.
//
// A resource that should be encrypted no longer leaves by steps of its own, beside
// those of the others: first its objects are written as they are, with all its keys
// still read, then all are rewritten so, and only then its entry goes. Without an
// entry an API server refuses what is encrypted.
func Desired(current State, keys []Key, grs []schema.GroupResource) (State, Phase) {
	keys = NewestFirst(keys)
	next := current.Enriched(keys)
	if len(grs) == 0 {
		return next, Settled
	}
	leaving := next.without(grs)
	if len(current) == 0 {
		leaving = abandoned(keys, grs)
	}
	next = next.restricted(grs)
	if leaving.writePlainly() {
		return next.and(leaving), Writing
	}
	if gone := leaving.drop(keys); len(gone) < len(leaving) {
		return next.and(gone), Pruning
	}
	next, phase := stay(next, current.Resources(), keys)
	return next.and(leaving), phase
}

// stay is Desired for the resources that should be encrypted.
func stay(next State, current []schema.GroupResource, keys []Key) (State, Phase) {
	if len(keys) == 0 {
		return next, Waiting
	}
	write := live(keys)
	if next.rewritesWithin(write) {
		return next, Migrating
	}
	configured := slices.DeleteFunc(slices.Clone(current), func(gr schema.GroupResource) bool { return next.Find(gr) == nil })
	if len(current) == 0 {
		configured = next.Resources() // anything may have been written with any key
	}
	expected := Retained(configured, keys)
	if next.read(expected) || next.newestReadIsUnbacked() {
		return next, Reading
	}
	if next.write(write) {
		return next, Writing
	}
	if !write.Migrated.HasAll(next.Resources()) {
		return next, Migrating
	}
	if next.prune(expected) {
		return next, Pruning
	}
	return next, Settled
}

// rewritesWithin reports whether the objects are being rewritten with another key
// of the plugin's own, under a key that is not the newest: the newest waits.
func (s State) rewritesWithin(newest Key) bool {
	return slices.ContainsFunc(s, func(r Resource) bool {
		return r.HasWriteKey() && r.Write.Backed && !r.Write.GivenUp && !r.Write.Equal(newest) && r.Write.KEK.Pending()
	})
}

// Retained returns the keys that objects of grs may be encrypted with, of keys,
// and the next older one. For backups of a time when the last migration was still
// going on contain objects that this one encrypted, and so may an object whose
// writing began before that migration and ended after it. Both lists have the
// newest keys first.
//
// A key that is given up counts for nothing: what was encrypted with it is lost, or
// rewritten by now. So it stays while no later key has it all, and no longer.
func Retained(grs []schema.GroupResource, keys []Key) []Key {
	open := slices.Clone(grs)
	for i, k := range keys {
		if k.GivenUp {
			continue
		}
		open = slices.DeleteFunc(open, k.Migrated.Has)
		if len(open) > 0 {
			continue
		}
		retained := keys[: i+1 : i+1]
		if older := slices.IndexFunc(keys[i+1:], func(k Key) bool { return !k.GivenUp }); older >= 0 {
			retained = append(retained, keys[i+1+older])
		}
		return retained
	}
	return keys
}

// live returns the newest key that is not given up, or else the newest.
func live(keys []Key) Key {
	for _, k := range keys {
		if !k.GivenUp {
			return k
		}
	}
	return keys[0]
}

// restricted returns s with exactly the entries of grs.
func (s State) restricted(grs []schema.GroupResource) State {
	sorted := slices.Clone(grs)
	slices.SortFunc(sorted, Compare)
	sorted = slices.Compact(sorted)
	out := make(State, 0, len(sorted))
	for _, gr := range sorted {
		if r := s.Find(gr); r != nil {
			out = append(out, *r)
			continue
		}
		out = append(out, Resource{GroupResource: gr})
	}
	return out
}

// read makes all entries read keys, and reports whether some did not.
func (s State) read(keys []Key) (changed bool) {
	for i := range s {
		r := &s[i]
		before := len(r.Read)
		for _, k := range keys {
			if !contains(r.Read, k) {
				r.Read = append(r.Read, k)
			}
		}
		if len(r.Read) > before {
			r.Read, changed = NewestFirst(r.Read), true
		}
	}
	return changed
}

func (s State) newestReadIsUnbacked() bool {
	return slices.ContainsFunc(s, func(r Resource) bool { return len(r.Read) > 0 && !r.Read[0].Backed })
}

// write makes all entries write with k, and reports whether some did not.
func (s State) write(k Key) (changed bool) {
	for i := range s {
		changed = changed || !s[i].writes(k)
	}
	if !changed {
		return false
	}
	for i := range s {
		key := k
		s[i].Write = &key
	}
	return true
}

// prune ends the reading of keys that are older than all of expected, and reports
// whether there were some. Keys in between, which are not backed, have stayed
// until now. Of keys that are given up none stays that is not expected.
func (s State) prune(expected []Key) (changed bool) {
	for i := range s {
		r := &s[i]
		last := -1
		for j, k := range r.Read {
			if contains(expected, k) {
				last = j
			}
		}
		if last < 0 {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(r.Read[:last+1]), func(k Key) bool { return k.GivenUp && !contains(expected, k) })
		if len(kept) < len(r.Read) {
			r.Read, changed = kept, true
		}
	}
	return changed
}
