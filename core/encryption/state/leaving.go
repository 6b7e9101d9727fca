package state

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Plainly reports whether objects are written as they are.
func (r *Resource) Plainly() bool { return !r.HasWriteKey() || r.Write.Mode == Identity }

// without returns the entries of s for resources other than grs.
func (s State) without(grs []schema.GroupResource) State {
	return slices.DeleteFunc(s.clone(), func(r Resource) bool { return slices.Contains(grs, r.GroupResource) })
}

// abandoned returns entries for resources other than grs that keys were migrated
// for, where no configuration tells of them any more: something of theirs may still
// be encrypted.
func abandoned(keys []Key, grs []schema.GroupResource) State {
	var marked []schema.GroupResource
	for _, k := range keys {
		for _, gr := range k.Migrated.Resources {
			if !slices.Contains(grs, gr) && !slices.Contains(marked, gr) {
				marked = append(marked, gr)
			}
		}
	}
	slices.SortFunc(marked, Compare)
	var s State
	for _, gr := range marked {
		s = append(s, Resource{GroupResource: gr, Read: slices.Clone(keys)})
	}
	return s
}

// writePlainly ends the writing with keys, and reports whether there was some. What
// is read stays.
func (s State) writePlainly() (changed bool) {
	for i := range s {
		if !s[i].Plainly() {
			s[i].Write, changed = nil, true
		}
	}
	return changed
}

// drop returns s without the resources that nothing of is encrypted any more.
func (s State) drop(keys []Key) State {
	return slices.DeleteFunc(s.clone(), func(r Resource) bool { return r.Plainly() && Decrypted(r.GroupResource, keys) })
}

// Decrypted reports whether one of the keys says that all objects of gr have been
// rewritten as they are.
func Decrypted(gr schema.GroupResource, keys []Key) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return slices.Contains(k.Decrypted, gr) })
}

// and returns the entries of s and o, in order.
func (s State) and(o State) State {
	if len(o) == 0 {
		return s
	}
	all := append(slices.Clone(s), o...)
	slices.SortFunc(all, func(a, b Resource) int { return Compare(a.GroupResource, b.GroupResource) })
	return all
}

// Outdated returns what a key notes of resources and is no longer so, when all API
// servers run current and grs are the resources that should be encrypted.
//
// That objects of a resource have been written with a key is no longer so once the
// resource is to be encrypted no more, for it may come back later; nor where API
// servers have lost their configuration, and write as it comes; nor where they write with
// an older key, since this one was given up. That they have been written as they are is no longer so where a key writes them.
func Outdated(k Key, current State, grs []schema.GroupResource) (migrated, decrypted []schema.GroupResource) {
	for _, gr := range k.Migrated.Resources {
		if slices.Contains(grs, gr) == (len(current) == 0) || newerThanWriter(k, current.Find(gr)) {
			migrated = append(migrated, gr)
		}
	}
	for _, gr := range k.Decrypted {
		if r := current.Find(gr); r == nil || !r.Plainly() {
			decrypted = append(decrypted, gr)
		}
	}
	return migrated, decrypted
}

// newerThanWriter reports whether what objects of a resource are written with is older
// than k.
func newerThanWriter(k Key, r *Resource) bool {
	return r != nil && (!r.HasWriteKey() || r.Write.ID < k.ID)
}
