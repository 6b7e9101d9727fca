package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// keepsAll reports whether a manager applies again all that it owns, as one does that
// reports the same things for ever. Then nothing is to be taken out of the object, and
// to search for that is most of the work of an apply: the library does not if the
// manager owned nothing before.
//
// The search has two effects beside, which keep other objects from this: it makes null
// of what is empty, and it converts to the versions of other managers.
func (m *Manager) keepsAll(o *Owners, id string, live runtime.Object, config *unstructured.Unstructured, wanted *typed.TypedValue) bool {
	last, ok := o.sets[id]
	if !ok || !last.Applied() {
		return false
	}
	for _, other := range o.ids() {
		if o.sets[other].APIVersion() != m.version() {
			return false
		}
	}
	there, ok := live.(*unstructured.Unstructured)
	if !ok || hasEmpty(there.Object) || hasEmpty(config.Object) {
		return false
	}
	set, err := wanted.ToFieldSet()
	if err != nil {
		return false // which the apply tells
	}
	if ignored := m.cfg.Ignored[m.version()]; ignored != nil {
		set = ignored.Filter(set)
	}
	return last.Set().Difference(set).Empty()
}

// hasEmpty reports whether there is a null, or an empty list or map, in a value.
func hasEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, v := range value {
			if hasEmpty(v) {
				return true
			}
		}
		return len(value) == 0
	case []any:
		for _, v := range value {
			if hasEmpty(v) {
				return true
			}
		}
		return len(value) == 0
	default:
		return false
	}
}
