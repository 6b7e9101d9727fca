package secretsync

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

// Use is a Secret that a container may use. The name is that of the Secret, not of its
// shadow.
type Use struct {
	types.NamespacedName

	// Keys are those that it may use; nil means all, also those that come later.
	Keys []string
}

// covers reports whether the use is of what an entry belongs to.
func (u Use) covers(o plane.Owner) bool {
	return u.NamespacedName == o.NamespacedName && (u.Keys == nil || slices.Contains(u.Keys, o.Key))
}

// may reports whether any of the uses is of what an entry belongs to.
func may(uses []Use, o plane.Owner) bool {
	return slices.ContainsFunc(uses, func(u Use) bool { return u.covers(o) })
}

// grantsOf returns the grants of a cgroup for entries.
func grantsOf(cg policy.Cgroup, uses []Use, entries []plane.Entry) (grants []policy.Grant) {
	for i := range entries {
		if may(uses, entries[i].Owner) {
			grants = append(grants, policy.Grant{Cgroup: cg, Key: entries[i].Key()})
		}
	}
	return grants
}

// without returns the grants of one list that are not in another.
func without(grants, others []policy.Grant) (out []policy.Grant) {
	there := map[policy.Grant]bool{}
	for _, g := range others {
		there[g] = true
	}
	for _, g := range grants {
		if !there[g] {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b policy.Grant) int {
		return cmp.Or(cmp.Compare(a.Cgroup, b.Cgroup), a.Key.Compare(b.Key))
	})
	return slices.Compact(out)
}
