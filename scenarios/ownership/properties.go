package ownership

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// Names of the properties.
const (
	liveOwnersKeep = "live-owners-keep"
	ownersGoLast   = "owners-go-last"
	orphansStay    = "orphans-stay"
	dependentsGo   = "dependents-go"
	deletionsEnd   = "deletions-end"
	namespacesEnd  = "namespaces-end"
)

// patience is how long the controllers may take once all is calm.
const patience = 3 * time.Minute

func properties() []scenarios.Property {
	observed := func(name, meaning string) scenarios.Property {
		return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) scenarios.Check {
			return scenarios.Check{Always: func() error { return s.history.breaches[name] }}
		})
	}
	eventually := func(name, meaning string, look func(*State) error) scenarios.Property {
		return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) scenarios.Check {
			return scenarios.Check{Eventually: func() error { return look(s) }, Within: patience}
		})
	}
	return []scenarios.Property{
		observed(liveOwnersKeep, "Nothing is collected that has no owner, or one that lives: whoever made it still counts on it."),
		observed(ownersGoLast, "What is deleted in the foreground goes after all that blocked it then: cleaning up dependents may need the owner."),
		observed(orphansStay, "The dependents of an owner that is deleted with propagation policy Orphan are not collected: they were to outlive it."),
		eventually(dependentsGo, "Once all is calm, nothing is left whose owners are all gone: it would cost money and confuse for ever.", (*State).dependentsGone),
		eventually(deletionsEnd, "Once all is calm and nobody holds anything, nothing is being deleted any more: a deletion that never ends needs a person.", (*State).deletionsEnded),
		eventually(namespacesEnd, "Once all is calm, a deleted namespace is gone, and nothing is left that was in it.", (*State).namespacesEnded),
	}
}

// each looks at all objects in order, until one is wrong.
func (h *history) each(look func(apiserver.Object) error) error {
	for _, uid := range slices.Sorted(maps.Keys(h.objects)) {
		if err := look(h.objects[uid]); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) dependentsGone() error {
	h := &s.history
	return h.each(func(o apiserver.Object) error {
		var missing []types.UID
		for _, ref := range o.GetOwnerReferences() {
			if owner := h.objects[ref.UID]; owner == nil || owner.GetNamespace() != o.GetNamespace() {
				missing = append(missing, ref.UID)
			}
		}
		// What is being deleted may have to wait for dependents of its own.
		if n := len(o.GetOwnerReferences()); n > 0 && len(missing) == n && o.GetDeletionTimestamp() == nil {
			return fmt.Errorf("%s is there, and none of its owners is", name(o))
		}
		return nil
	})
}

func (s *State) deletionsEnded() error {
	return s.history.each(func(o apiserver.Object) error {
		if o.GetDeletionTimestamp() == nil {
			return nil
		}
		return fmt.Errorf("%s is still being deleted, held by %v", name(o), o.GetFinalizers())
	})
}

func (s *State) namespacesEnded() error {
	h := &s.history
	for _, ns := range slices.Sorted(maps.Keys(h.namespaces)) {
		if h.ending(ns) {
			return fmt.Errorf("namespace %s is still being deleted", ns)
		}
	}
	return h.each(func(o apiserver.Object) error {
		if h.namespaces[o.GetNamespace()] == nil {
			return fmt.Errorf("%s is there without its namespace", name(o))
		}
		return nil
	})
}
