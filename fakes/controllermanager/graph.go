package controllermanager

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// The graph of owners and dependents, as the collector's watches have shown it. An
// owner that nobody has seen yet is in it as a virtual node, with the coordinates
// that a dependent claims; the collector then asks the API whether it exists.

// identity is where an object is to be found. Its namespace is a guess (that of the
// dependent) for virtual nodes.
type identity struct {
	apiVersion, kind, namespace, name string
	uid                               types.UID
}

func identityOf(r *resource, o apiserver.Object) identity {
	return identity{
		apiVersion: r.GVK().GroupVersion().String(), kind: r.Kind,
		namespace: o.GetNamespace(), name: o.GetName(), uid: o.GetUID(),
	}
}

// claim is the identity that an owner reference gives, for a dependent in a
// namespace.
func claim(ref *metav1.OwnerReference, namespace string) identity {
	return identity{apiVersion: ref.APIVersion, kind: ref.Kind, namespace: namespace, name: ref.Name, uid: ref.UID}
}

// claims reports whether the reference has the coordinates of id, whatever the
// namespace.
func (id identity) claims(ref *metav1.OwnerReference) bool { return claim(ref, id.namespace) == id }

// node is one object, seen or only referred to.
type node struct {
	identity
	owners     []metav1.OwnerReference
	dependents map[types.UID]*node

	virtual            bool // not seen by a watch yet
	beingDeleted       bool
	deletingDependents bool // being deleted in the foreground
}

// sorted returns the dependents in an order that does not change by itself.
func (n *node) sorted() []*node {
	out := make([]*node, 0, len(n.dependents))
	for _, uid := range slices.Sorted(maps.Keys(n.dependents)) {
		out = append(out, n.dependents[uid])
	}
	return out
}

// blocking returns the dependents that block the deletion of n.
func (n *node) blocking() []*node {
	return slices.DeleteFunc(n.sorted(), func(d *node) bool {
		return !slices.ContainsFunc(d.owners, func(ref metav1.OwnerReference) bool { return ref.UID == n.uid && blocks(&ref) })
	})
}

func blocks(ref *metav1.OwnerReference) bool {
	return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

// graph is the builder of the graph. It puts nodes that need work into two queues.
type graph struct {
	nodes    map[types.UID]*node
	absent   absentOwners
	toDelete *Loop
	toOrphan *Loop
}

func newGraph(toDelete, toOrphan *Loop) *graph {
	return &graph{nodes: map[types.UID]*node{}, toDelete: toDelete, toOrphan: toOrphan}
}

func (g *graph) delete(n *node) { g.toDelete.add("", string(n.uid)) }

func (g *graph) deleteAll(nodes []*node) {
	for _, n := range nodes {
		g.delete(n)
	}
}

// changed takes what a watch has shown.
func (g *graph) changed(r *resource, old, new apiserver.Object) {
	o := new
	if o == nil {
		o = old
	}
	id := identityOf(r, o)
	n := g.nodes[id.uid]
	if n != nil && n.virtual {
		n = g.observed(n, id)
	}
	switch {
	case new == nil:
		if n != nil {
			g.remove(n, id)
		}
	case n == nil:
		n = &node{
			identity: id, owners: new.GetOwnerReferences(), dependents: map[types.UID]*node{},
			beingDeleted:       new.GetDeletionTimestamp() != nil,
			deletingDependents: deletingWith(new, metav1.FinalizerDeleteDependents),
		}
		g.nodes[id.uid] = n
		g.addToOwners(n, n.owners)
		g.transition(n, old, new)
	default:
		g.updated(n, new)
		g.transition(n, old, new)
	}
}

// observed makes a virtual node real. Dependents that claim other coordinates are
// looked at again.
func (g *graph) observed(n *node, id identity) *node {
	if n.identity != id {
		_, others := partition(n.sorted(), id)
		g.deleteAll(others)
		n.identity = id
	}
	n.virtual = false
	return n
}

func (g *graph) updated(n *node, o apiserver.Object) {
	added, removed, changed := differences(n.owners, o.GetOwnerReferences())
	if len(added)+len(removed)+len(changed) > 0 {
		g.unblock(removed, changed)
		n.owners = o.GetOwnerReferences()
		g.addToOwners(n, added)
		g.removeFromOwners(n, removed)
	}
	if o.GetDeletionTimestamp() != nil {
		n.beingDeleted = true
	}
}

// addToOwners makes n a dependent of its owners. An owner that is not known becomes
// a virtual node, about which the API is asked.
func (g *graph) addToOwners(n *node, owners []metav1.OwnerReference) {
	doubtful := false
	for i := range owners {
		ref := &owners[i]
		owner, known := g.nodes[ref.UID]
		if !known {
			owner = &node{identity: claim(ref, n.namespace), dependents: map[types.UID]*node{}, virtual: true}
			g.nodes[ref.UID] = owner
		}
		owner.dependents[n.uid] = n
		switch {
		case !known:
			g.delete(owner)
		case owner.namespace != "" && owner.namespace != n.namespace, !owner.claims(ref):
			doubtful = true
		case owner.namespace == "" && n.namespace != "" && owner.virtual:
			doubtful = true
		}
	}
	if doubtful {
		g.delete(n)
	}
}

func (g *graph) removeFromOwners(n *node, owners []metav1.OwnerReference) {
	for i := range owners {
		if owner := g.nodes[owners[i].UID]; owner != nil {
			delete(owner.dependents, n.uid)
		}
	}
}

// unblock looks again at owners that a dependent blocks no more.
func (g *graph) unblock(removed []metav1.OwnerReference, changed []changedReference) {
	for i := range removed {
		if owner := g.nodes[removed[i].UID]; owner != nil && blocks(&removed[i]) {
			g.delete(owner)
		}
	}
	for i := range changed {
		if owner := g.nodes[changed[i].new.UID]; owner != nil && blocks(&changed[i].old) && !blocks(&changed[i].new) {
			g.delete(owner)
		}
	}
}

// transition puts n to work if it has begun to wait for its dependents.
func (g *graph) transition(n *node, old, new apiserver.Object) {
	switch {
	case begins(old, new, metav1.FinalizerOrphanDependents):
		g.toOrphan.add("", string(n.uid))
	case begins(old, new, metav1.FinalizerDeleteDependents):
		n.deletingDependents = true
		g.deleteAll(n.sorted())
		g.delete(n)
	}
}

func deletingWith(o apiserver.Object, finalizer string) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), finalizer)
}

func begins(old, new apiserver.Object, finalizer string) bool {
	return deletingWith(new, finalizer) && (old == nil || !deletingWith(old, finalizer))
}

// remove takes a node out whose object is gone.
func (g *graph) remove(n *node, id identity) {
	delete(g.nodes, n.uid)
	g.removeFromOwners(n, n.owners)
	if len(n.dependents) > 0 {
		g.absent.add(id)
	}
	g.deleteAll(n.sorted())
	for i := range n.owners {
		if owner := g.nodes[n.owners[i].UID]; owner != nil && owner.deletingDependents {
			g.delete(owner)
		}
	}
}

// notFound takes the word of the API that nothing has that identity.
func (g *graph) notFound(id identity) {
	n := g.nodes[id.uid]
	if n == nil {
		return
	}
	matching, others := partition(n.sorted(), id)
	switch {
	case n.virtual && len(others) > 0:
		// Some dependents claim other coordinates: one of those may exist.
		if len(matching) > 0 {
			g.absent.add(id)
			g.deleteAll(matching)
		}
		if next, ok := alternative(others, id); ok && n.identity == id {
			n.identity = next // to be asked for after a while
		}
	case !n.virtual && n.identity != id:
		if len(matching) > 0 {
			g.absent.add(id)
			g.deleteAll(matching)
		}
	default:
		g.remove(n, id)
	}
}
