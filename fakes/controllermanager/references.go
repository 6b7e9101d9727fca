package controllermanager

import (
	"cmp"
	"container/list"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// changedReference is an owner reference before and after.
type changedReference struct{ old, new metav1.OwnerReference }

// differences compares owner references by uid.
func differences(old, new []metav1.OwnerReference) (added, removed []metav1.OwnerReference, changed []changedReference) {
	find := func(refs []metav1.OwnerReference, ref *metav1.OwnerReference) *metav1.OwnerReference {
		for i := range refs {
			if refs[i].UID == ref.UID {
				return &refs[i]
			}
		}
		return nil
	}
	for i := range new {
		switch was := find(old, &new[i]); {
		case was == nil:
			added = append(added, new[i])
		case !reflect.DeepEqual(*was, new[i]):
			changed = append(changed, changedReference{*was, new[i]})
		}
	}
	for i := range old {
		if find(new, &old[i]) == nil {
			removed = append(removed, old[i])
		}
	}
	return added, removed, changed
}

// partition splits dependents by whether their reference to id's uid has the
// coordinates of id. A dependent with two references may be on both sides.
func partition(dependents []*node, id identity) (matching, others []*node) {
	for _, d := range dependents {
		match, other := false, false
		if id.namespace != "" && id.namespace != d.namespace {
			other = true
		} else {
			for i := range d.owners {
				if ref := &d.owners[i]; ref.UID == id.uid {
					match, other = match || id.claims(ref), other || !id.claims(ref)
				}
			}
		}
		if match {
			matching = append(matching, d)
		}
		if other {
			others = append(others, d)
		}
	}
	return matching, others
}

// alternative returns where else the owner might be, according to dependents that
// do not claim absent: the next identity in order after absent, or the first.
func alternative(dependents []*node, absent identity) (identity, bool) {
	var first, next *identity
	for _, d := range dependents {
		for i := range d.owners {
			ref := &d.owners[i]
			if ref.UID != absent.uid || absent.claims(ref) && (absent.namespace == "" || absent.namespace == d.namespace) {
				continue
			}
			id := claim(ref, d.namespace)
			if absent.namespace == "" && id.apiVersion == absent.apiVersion && id.kind == absent.kind {
				id.namespace = "" // the kind is known to be cluster-scoped
			}
			if id == absent {
				continue
			}
			if first == nil || id.compare(*first) < 0 {
				first = &id
			}
			if id.compare(absent) > 0 && (next == nil || id.compare(*next) < 0) {
				next = &id
			}
		}
	}
	switch {
	case next != nil:
		return *next, true
	case first != nil:
		return *first, true
	}
	return identity{}, false
}

func (id identity) compare(other identity) int {
	return cmp.Or(
		cmp.Compare(id.kind, other.kind), cmp.Compare(id.apiVersion, other.apiVersion),
		cmp.Compare(id.namespace, other.namespace), cmp.Compare(id.name, other.name), cmp.Compare(id.uid, other.uid),
	)
}

// absentOwners remembers the latest identities that are known not to exist. As uids
// are never used twice, nothing becomes wrong with time.
type absentOwners struct {
	byIdentity map[identity]*list.Element
	latest     list.List // front: used last
}

// absentOwnersMax is how many identities are remembered.
const absentOwnersMax = 500

func (a *absentOwners) add(id identity) {
	if a.has(id) {
		return
	}
	if a.byIdentity == nil {
		a.byIdentity = map[identity]*list.Element{}
	}
	a.byIdentity[id] = a.latest.PushFront(id)
	if a.latest.Len() > absentOwnersMax {
		delete(a.byIdentity, a.latest.Remove(a.latest.Back()).(identity))
	}
}

func (a *absentOwners) has(id identity) bool {
	e := a.byIdentity[id]
	if e != nil {
		a.latest.MoveToFront(e)
	}
	return e != nil
}
