package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim"
)

// objects keeps what there is.
type objects struct {
	*follower
	there map[string]apiserver.Object
}

func keep(w *sim.World) *objects {
	o := &objects{follow(w), map[string]apiserver.Object{}}
	w.Engine().OnTouched(func() error { o.look(); return nil })
	return o
}

func (o *objects) look() {
	for _, n := range o.next() {
		if n.Deleted {
			delete(o.there, n.key)
		} else {
			o.there[n.key] = n.Object
		}
	}
}

// sorted are the keys of what there is now.
func (o *objects) sorted() []string {
	o.look()
	return slices.Sorted(maps.Keys(o.there))
}

var (
	errNoOwner        = errors.New("it is not there")
	errOtherOwner     = errors.New("what is there under that name is another object")
	errOtherNamespace = errors.New("it is in another namespace, where no garbage collector looks for it")
	errTwoControllers = errors.New("two owners control it")
)

// OwnersExist says that at the end of a run each owner reference means an object that is
// there, in the same namespace or in none, and that no object has two controllers: what
// refers to an owner that is gone is about to be collected, whoever needs it.
//
// It is wrong where no garbage collector runs and nobody else collects, and about runs
// that end before it has come around.
func OwnersExist(w *sim.World) {
	o := keep(w)
	w.Finally("owners-exist", "What refers to an owner that is not there is taken for garbage, whoever needs it.", func() error {
		byUID := map[types.UID]string{}
		for _, key := range o.sorted() {
			byUID[o.there[key].GetUID()] = key
		}
		for _, key := range o.sorted() {
			if err := o.judgeOwners(o.there[key], byUID); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return nil
	})
}

func (o *objects) judgeOwners(obj apiserver.Object, byUID map[types.UID]string) error {
	controllers := 0
	for _, ref := range obj.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			controllers++
		}
		name := ref.Kind + " " + ref.Name
		key, ok := byUID[ref.UID]
		if !ok {
			if o.named(ref, obj.GetNamespace()) {
				return fmt.Errorf("owner %s: %w", name, errOtherOwner)
			}
			return fmt.Errorf("owner %s: %w", name, errNoOwner)
		}
		if ns := o.there[key].GetNamespace(); ns != "" && ns != obj.GetNamespace() {
			return fmt.Errorf("owner %s: %w", name, errOtherNamespace)
		}
	}
	if controllers > 1 {
		return errTwoControllers
	}
	return nil
}

// named reports whether there is an object of the kind and name of a reference. Resources
// are called as their kinds are, and what makes a plural of that.
func (o *objects) named(ref metav1.OwnerReference, namespace string) bool {
	for key, obj := range o.there { // any
		if obj.GetName() == ref.Name && strings.HasPrefix(key, strings.ToLower(ref.Kind)) && (obj.GetNamespace() == "" || obj.GetNamespace() == namespace) {
			return true
		}
	}
	return false
}

// StatusIsCurrent says that at the end of a run status.observedGeneration, where there is
// one, is the generation: who waits for a rollout waits for that.
//
// It is wrong about what nobody looks after any more, and about runs that end too early.
func StatusIsCurrent(w *sim.World) {
	o := keep(w)
	w.Finally("status-is-current", "Who waits for a change to be carried out goes by observedGeneration, and would wait for ever.", func() error {
		for _, key := range o.sorted() {
			fields, err := fieldsOf(o.there[key])
			if err != nil {
				return fmt.Errorf("read %s: %w", key, err)
			}
			seen, found, err := unstructured.NestedInt64(fields, "status", "observedGeneration")
			if err != nil || !found {
				continue
			}
			if is := o.there[key].GetGeneration(); seen != is {
				return fmt.Errorf("%s has generation %d, and its status is about %d", key, is, seen)
			}
		}
		return nil
	})
}

// fieldsOf is an object as it would be in JSON; it is only read.
func fieldsOf(obj apiserver.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// most is the key with the highest count, the first of them by name.
func most(counts map[string]int) string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(b, a))
	})
}
