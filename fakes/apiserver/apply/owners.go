package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Owners says which manager owns which fields of one version of an object. It
// does not change; the nil Owners are nobody.
type Owners struct {
	sets  fieldpath.ManagedFields // by identifier
	times map[string]metav1.Time  // whole seconds; none for some

	// twins are entries that are written beside those of the same manager, and
	// lost when they are read. They have no time.
	twins fieldpath.ManagedFields

	once    sync.Once
	entries []metav1.ManagedFieldsEntry
}

// fieldsType is the only form of field sets.
const fieldsType = "FieldsV1"

// Decode reads metadata.managedFields. It fails where a real server cannot read
// them either.
func Decode(entries []metav1.ManagedFieldsEntry) (*Owners, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	o := newOwners()
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Operation != metav1.ManagedFieldsOperationApply && e.Operation != metav1.ManagedFieldsOperationUpdate:
			return nil, fmt.Errorf("operation must be `Apply` or `Update`")
		case e.APIVersion == "":
			return nil, fmt.Errorf("apiVersion must not be empty")
		case e.FieldsType == "":
			return nil, fmt.Errorf("missing fieldsType in managed fields entry %d", i)
		case e.FieldsType != fieldsType:
			return nil, fmt.Errorf("invalid fieldsType %q in managed fields entry %d", e.FieldsType, i)
		}
		set := fieldpath.NewSet()
		if e.FieldsV1 != nil {
			if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
				return nil, fmt.Errorf("error decoding versioned set from %v: error decoding set: %w", *e, err)
			}
		}
		id := identifier(e.Manager, e.Operation, e.APIVersion, e.Subresource)
		o.sets[id] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(e.APIVersion), e.Operation == metav1.ManagedFieldsOperationApply)
		if e.Time != nil {
			o.times[id] = *e.Time
		}
	}
	return o, nil
}

func newOwners() *Owners {
	return &Owners{sets: fieldpath.ManagedFields{}, times: map[string]metav1.Time{}}
}

// Twofold reports whether the next write that reads the owners changes them,
// whatever it does: one manager has two entries.
func (o *Owners) Twofold() bool { return o != nil && len(o.twins) > 0 }

// copy returns owners that may be changed until they are handed out, as they are
// read.
func (o *Owners) copy() *Owners {
	c := newOwners()
	if o != nil {
		maps.Copy(c.sets, o.sets)
		for id, t := range o.times {
			if _, owns := o.sets[id]; owns { // nobody remembers those of others
				c.times[id] = t
			}
		}
	}
	return c
}

// ids returns the identifiers, sorted.
func (o *Owners) ids() []string {
	if o == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(o.sets))
}

// Empty reports whether nobody owns anything.
func (o *Owners) Empty() bool { return o == nil || len(o.sets) == 0 }

// identifier names a manager with all that makes it another one. An applier is
// the same in every API version. The form is Kubernetes' own, as its order shows.
func identifier(manager string, op metav1.ManagedFieldsOperationType, version, subresource string) string {
	if op == metav1.ManagedFieldsOperationApply {
		version = ""
	}
	id, err := json.Marshal(&metav1.ManagedFieldsEntry{Manager: manager, Operation: op, APIVersion: version, Subresource: subresource})
	if err != nil {
		panic(err) // four strings
	}
	return string(id)
}

// identified is the opposite of identifier.
func identified(id string) metav1.ManagedFieldsEntry {
	var e metav1.ManagedFieldsEntry
	if err := json.Unmarshal([]byte(id), &e); err != nil {
		panic(err) // made by identifier
	}
	return e
}

// Entries returns the owners as metadata.managedFields, in Kubernetes' order. The
// caller must not change what the entries point to; a list of its own is made by
// copying them.
func (o *Owners) Entries() []metav1.ManagedFieldsEntry {
	if o.Empty() {
		return nil
	}
	o.once.Do(func() {
		o.entries = make([]metav1.ManagedFieldsEntry, 0, len(o.sets))
		for _, id := range o.ids() {
			o.entries = append(o.entries, o.entry(id, o.sets[id]))
			if twin, ok := o.twins[id]; ok {
				e := o.entry(id, twin)
				e.Time = nil
				o.entries = append(o.entries, e)
			}
		}
		slices.SortStableFunc(o.entries, compareEntries)
	})
	return o.entries
}

func (o *Owners) entry(id string, set fieldpath.VersionedSet) metav1.ManagedFieldsEntry {
	e := identified(id)
	e.APIVersion = string(set.APIVersion())
	if set.Applied() {
		e.Operation = metav1.ManagedFieldsOperationApply
	}
	if t, ok := o.times[id]; ok {
		e.Time = &t
	}
	raw, err := set.Set().ToJSON()
	if err != nil {
		panic(fmt.Sprintf("apply: encode the fields of %s: %v", id, err)) // the set was decoded, or made of an object
	}
	e.FieldsType, e.FieldsV1 = fieldsType, metav1.NewFieldsV1(string(raw))
	return e
}

// compareEntries is the order of metadata.managedFields.
func compareEntries(a, b metav1.ManagedFieldsEntry) int {
	seconds := func(e metav1.ManagedFieldsEntry) int64 {
		if e.Time == nil {
			return 0
		}
		return e.Time.Unix()
	}
	switch {
	case a.Operation != b.Operation:
		return compare(a.Operation, b.Operation)
	case seconds(a) != seconds(b):
		return compare(seconds(a), seconds(b))
	case a.Manager != b.Manager:
		return compare(a.Manager, b.Manager)
	case a.APIVersion != b.APIVersion:
		return compare(a.APIVersion, b.APIVersion)
	default:
		return compare(a.Subresource, b.Subresource)
	}
}

// Same reports whether a and b are the same but for times, and in the same order,
// which times may change.
func Same(a, b *Owners) bool {
	return sameFields(a, b) && (sameTimes(a, b) || slices.EqualFunc(a.Entries(), b.Entries(), alike))
}

func alike(a, b metav1.ManagedFieldsEntry) bool {
	a.Time, b.Time = nil, nil
	return reflect.DeepEqual(a, b)
}

func sameFields(a, b *Owners) bool {
	if a.Empty() || b.Empty() {
		return a.Empty() && b.Empty()
	}
	return sameSets(a.sets, b.sets) && sameSets(a.twins, b.twins)
}

func sameSets(a, b fieldpath.ManagedFields) bool {
	if len(a) != len(b) {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(a)) {
		set := a[id]
		other, ok := b[id]
		if !ok || other.APIVersion() != set.APIVersion() || other.Applied() != set.Applied() || !other.Set().Equals(set.Set()) {
			return false
		}
	}
	return true
}

// Reset reports whether a client sent entries that clear the field: an empty
// list, or one empty entry.
func Reset(entries []metav1.ManagedFieldsEntry) bool {
	switch len(entries) {
	case 0:
		return entries != nil
	case 1:
		e := &entries[0]
		return e.Manager == "" && e.Operation == "" && e.APIVersion == "" && e.Time == nil &&
			e.FieldsType == "" && e.FieldsV1 == nil && e.Subresource == ""
	default:
		return false
	}
}

// Identical reports whether a and b are the same, times included.
func Identical(a, b *Owners) bool { return sameFields(a, b) && sameTimes(a, b) }

func sameTimes(a, b *Owners) bool {
	if a.Empty() {
		return true
	}
	for id := range a.sets {
		s, inA := a.times[id]
		t, inB := b.times[id]
		if inA != inB || !s.Equal(&t) {
			return false
		}
	}
	return true
}

// CopyEntries returns entries that may be changed.
func CopyEntries(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	out := make([]metav1.ManagedFieldsEntry, len(entries))
	for i := range entries {
		entries[i].DeepCopyInto(&out[i])
	}
	return out
}
