package provingground

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// undue judges deletions: what an operator has made may only go if some version of the
// spec since then, or the deletion of the whole, wants it gone. A controller that acts
// on an old view takes away what was made after it.
type undue struct {
	ground *ground
	wants  func(db *Database, name string) bool

	born  map[types.UID]uint64 // revisions at which children were made
	dying map[types.UID]bool
}

func (g *ground) judgeDeletions(children schema.GroupVersionResource, wants func(db *Database, name string) bool) {
	u := &undue{ground: g, wants: wants, born: map[types.UID]uint64{}, dying: map[types.UID]bool{}}
	specs := map[string][]specVersion{}
	g.follow(databases, func(c change) {
		o := c.now
		if o == nil {
			o = c.gone
		}
		key := o.GetNamespace() + "/" + o.GetName()
		db := g.database(c.now)
		if db != nil && db.DeletionTimestamp != nil {
			db = nil
		}
		specs[key] = append(specs[key], specVersion{revision(o), db})
	})
	g.follow(children, func(c change) { u.see(c, specs) })
}

// specVersion is a spec from a revision on; nil while there is none.
type specVersion struct {
	from uint64
	db   *Database
}

func (u *undue) see(c change, specs map[string][]specVersion) {
	o := c.now
	if o == nil {
		o = c.gone
	}
	uid := o.GetUID()
	if c.old == nil {
		u.born[uid] = revision(o)
	}
	ends := c.now == nil || o.GetDeletionTimestamp() != nil
	if !ends || u.dying[uid] {
		return
	}
	u.dying[uid] = true
	owner := o.GetLabels()[ownerLabel]
	if u.wanted(o, specs[o.GetNamespace()+"/"+owner]) {
		u.ground.breach("%s is deleted, and since it was made %s has wanted it all the time", o.GetName(), owner)
	}
}

// wanted reports whether every spec since the birth of a child wants it.
func (u *undue) wanted(o apiserver.Object, versions []specVersion) bool {
	born := u.born[o.GetUID()]
	for i, v := range versions {
		last := i == len(versions)-1
		if !last && versions[i+1].from <= born {
			continue // it was over by then
		}
		if v.db == nil || !u.wants(v.db, o.GetName()) {
			return false
		}
	}
	return len(versions) > 0
}

// ordinal is the number at the end of the name of a member or of what belongs to it.
func ordinal(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}
