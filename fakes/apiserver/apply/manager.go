package apply

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Config says what a [Manager] must know about its kind.
type Config struct {
	// Kind is the kind and version that requests are made in.
	Kind schema.GroupVersionKind

	// Subresource that is written, or empty.
	Subresource string

	// Types knows the schema of every served version.
	Types managedfields.TypeConverter

	// New returns an empty object of the kind, with kind and apiVersion.
	New func() runtime.Object

	// Convert returns an object, of any version, in another version, with kind
	// and apiVersion. It fails with a not-registered error if that is not served.
	Convert func(obj runtime.Object, to schema.GroupVersion) (runtime.Object, error)

	// Ignored holds, by API version, a filter that drops the fields that writes to
	// the target do not change, so that nobody owns them for having sent them.
	Ignored map[fieldpath.APIVersion]fieldpath.Filter
}

// Manager keeps track of who owns which fields through the writes to one target:
// a kind in one version, or a subresource of it. It has no state, and is safe for
// concurrent use.
type Manager struct {
	cfg     Config
	updater *merge.Updater
	// strip are the fields that nobody ever owns.
	strip *fieldpath.Set
}

const (
	// managersMax is how many managers of updates an object has before the oldest
	// become one.
	managersMax = 10

	oldManagers  = "ancient-changes"
	firstManager = "before-first-apply"
	noManager    = "unknown"

	// writer stands for the manager of the write at hand.
	writer = "current-operation"
)

// NewManager returns a manager of the target that cfg describes.
func NewManager(cfg Config) *Manager {
	m := &Manager{cfg: cfg, strip: fieldpath.NewSet()}
	m.updater = (&merge.UpdaterBuilder{Converter: converter{m}, IgnoreFilter: cfg.Ignored}).BuildUpdater()
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		m.strip.Insert(fieldpath.MakePathOrDie(name))
	}
	for _, name := range []string{"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion"} {
		m.strip.Insert(fieldpath.MakePathOrDie("metadata", name))
	}
	return m
}

// Name returns the name of the manager of a write: what the request says, or else
// the User-Agent up to its first slash.
func Name(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(userAgent, "/")
	if len(name) <= metav1validation.FieldManagerMaxLength && plain(name) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > metav1validation.FieldManagerMaxLength {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func (m *Manager) id(name string, op metav1.ManagedFieldsOperationType) string {
	if name == "" {
		name = noManager
	}
	return identifier(name, op, m.cfg.Kind.GroupVersion().String(), m.cfg.Subresource)
}

// Update returns who owns what after a write by name that is no apply. Live is
// the object before it, nil if it is new, and obj is what was sent, or patched,
// before anything but decoding and defaulting changed it. Both are in the
// manager's version, with kind and apiVersion and without managed fields. They
// are only read.
//
// What has changed belongs to name from then on. An object whose fields nobody
// owns is not tracked again, unless it is new.
//
// The owners are returned as they are if the objects do not fit their schema: a
// write that is no apply does not fail for that.
func (m *Manager) Update(o *Owners, live, obj runtime.Object, name string, now metav1.Time) *Owners {
	if live != nil && o.Empty() {
		return o
	}
	next, err := m.update(o, live, obj, name, now)
	if err != nil {
		return o
	}
	return next
}

func (m *Manager) update(o *Owners, live, obj runtime.Object, name string, now metav1.Time) (*Owners, error) {
	if live == nil {
		live = m.cfg.New()
	}
	after, err := m.cfg.Types.ObjectToTyped(obj, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("read new object: %w", err)
	}
	before, err := m.cfg.Types.ObjectToTyped(live, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("read live object: %w", err)
	}
	next := o.copy()
	_, next.sets, err = m.updater.Update(before, after, m.version(), next.sets, writer)
	if err != nil {
		return nil, fmt.Errorf("compare objects: %w", err)
	}
	m.stripOwner(next, writer)
	if set, ok := next.sets[writer]; ok { // something has changed, and not only gone
		delete(next.sets, writer)
		id := m.id(name, metav1.ManagedFieldsOperationUpdate)
		if had, ok := next.sets[id]; ok {
			set = fieldpath.NewVersionedSet(set.Set().Union(had.Set()), set.APIVersion(), set.Applied())
		}
		next.sets[id] = set
		next.times[id] = now
	}
	next.limit()
	return next, nil
}

// Stamp returns owners that are o, but for the time of the last update by name. Who
// owns nothing by updates has no such time.
func (m *Manager) Stamp(o *Owners, name string, now metav1.Time) *Owners {
	id := m.id(name, metav1.ManagedFieldsOperationUpdate)
	if o.Empty() {
		return o
	}
	if _, owns := o.sets[id]; !owns {
		return o
	}
	next := o.copy()
	next.times[id] = now
	return next
}

func (m *Manager) version() fieldpath.APIVersion {
	return fieldpath.APIVersion(m.cfg.Kind.GroupVersion().String())
}

func (m *Manager) stripOwner(o *Owners, id string) {
	set, ok := o.sets[id]
	if !ok {
		return
	}
	rest := set.Set().Difference(m.strip)
	if rest.Empty() {
		delete(o.sets, id)
		return
	}
	o.sets[id] = fieldpath.NewVersionedSet(rest, set.APIVersion(), set.Applied())
}

// limit merges the oldest managers of updates while there are too many.
func (o *Owners) limit() {
	var updaters []string
	for _, id := range slices.Sorted(maps.Keys(o.sets)) {
		if !o.sets[id].Applied() {
			updaters = append(updaters, id)
		}
	}
	left := len(updaters)
	if left <= managersMax {
		return
	}
	age := func(id string) int64 {
		if t, ok := o.times[id]; ok {
			return t.Unix()
		}
		return 0
	}
	slices.SortStableFunc(updaters, func(a, b string) int { return compare(age(a), age(b)) })
	first := map[fieldpath.APIVersion]string{}
	for _, id := range updaters {
		if left <= managersMax {
			return
		}
		set := o.sets[id]
		before, seen := first[set.APIVersion()]
		if !seen { // one alone stays as it is
			first[set.APIVersion()] = id
			continue
		}
		bucket := identifier(oldManagers, metav1.ManagedFieldsOperationUpdate, string(set.APIVersion()), "")
		if _, ok := o.sets[bucket]; !ok {
			o.sets[bucket] = o.sets[before]
			delete(o.sets, before)
		}
		o.sets[bucket] = fieldpath.NewVersionedSet(set.Set().Union(o.sets[bucket].Set()), set.APIVersion(), set.Applied())
		if t, ok := o.times[id]; ok { // the newer of the two
			o.times[bucket] = t
		} else {
			delete(o.times, bucket)
		}
		delete(o.sets, id)
		left--
	}
}

// Apply applies a configuration of name's to live, which is nil if it does not
// exist. It returns the merged object, or nil if that is what is there already,
// and who owns what then. The object is in the manager's version and not yet
// defaulted; it may share memory with live and config.
//
// Errors are an *apierrors.StatusError for what a client can be told, above all
// conflicts, and otherwise say why the objects do not fit the schema.
func (m *Manager) Apply(o *Owners, live runtime.Object, config *unstructured.Unstructured, name string, force bool, now metav1.Time) (*unstructured.Unstructured, *Owners, error) {
	if gvk := config.GroupVersionKind(); gvk != m.cfg.Kind {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid object type: %v", gvk))
	}
	if live == nil {
		live = m.cfg.New()
	} else if o.Empty() {
		var err error
		if o, err = m.update(nil, m.cfg.New(), live, firstManager, now); err != nil {
			return nil, nil, fmt.Errorf("failed to create manager for existing fields: %w", err)
		}
	}
	obj, next, err := m.apply(o, live, config, name, force, now)
	if name == kubectl {
		var conflicts merge.Conflicts
		if errors.As(err, &conflicts) {
			obj, next, err = m.upgrade(o, live, config, conflicts, now)
		}
	}
	var conflicts merge.Conflicts
	switch {
	case errors.As(err, &conflicts):
		return nil, nil, errConflicts(conflicts)
	case err != nil:
		return nil, nil, err
	}
	if name == kubectl {
		if obj, err = keepLastApplied(obj, live, config); err != nil {
			return nil, nil, err
		}
	}
	return obj, next, nil
}

func (m *Manager) apply(o *Owners, live runtime.Object, config *unstructured.Unstructured, name string, force bool, now metav1.Time) (*unstructured.Unstructured, *Owners, error) {
	if config.GetManagedFields() != nil {
		return nil, nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	wanted, err := m.cfg.Types.ObjectToTyped(config)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to create typed patch object (%s): %w", describe(config), err)
	}
	before, err := m.cfg.Types.ObjectToTyped(live, typed.AllowDuplicates)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to create typed live object (%s): %w", describe(live), err)
	}
	id := m.id(name, metav1.ManagedFieldsOperationApply)
	next := o.copy()
	if m.keepsAll(next, id, live, config, wanted) {
		delete(next.sets, id)
	}
	var after *typed.TypedValue
	after, next.sets, err = m.updater.Apply(before, wanted, m.version(), next.sets, id, force)
	if err != nil {
		return nil, nil, err
	}
	if after != nil {
		next.times[id] = now
	}
	m.stripOwner(next, id)
	if after == nil {
		return nil, next, nil
	}
	obj, err := m.cfg.Types.TypedToObject(after)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to convert new typed object (%s) to object: %w", describe(config), err)
	}
	return obj.(*unstructured.Unstructured), next, nil
}

// describe names an object as Kubernetes' field manager does.
func describe(obj runtime.Object) string {
	name, namespace := "<unknown>", "<unknown>"
	if a, err := meta.Accessor(obj); err == nil {
		name, namespace = a.GetName(), a.GetNamespace()
	}
	return fmt.Sprintf("%v/%v; %v", namespace, name, obj.GetObjectKind().GroupVersionKind())
}

// converter lets the merge library look at an object in the versions that other
// managers wrote in.
type converter struct{ m *Manager }

// Convert implements merge.Converter.
func (c converter) Convert(object *typed.TypedValue, version fieldpath.APIVersion) (*typed.TypedValue, error) {
	if versionOf(object) == version {
		return object, nil
	}
	to, err := schema.ParseGroupVersion(string(version))
	if err != nil {
		return object, err
	}
	obj, err := c.m.cfg.Types.TypedToObject(object)
	if err != nil {
		return object, err
	}
	obj, err = c.m.cfg.Convert(obj, to)
	if err != nil {
		return object, err
	}
	return c.m.cfg.Types.ObjectToTyped(obj)
}

// IsMissingVersionError implements merge.Converter.
func (c converter) IsMissingVersionError(err error) bool { return runtime.IsNotRegisteredError(err) }

func versionOf(object *typed.TypedValue) fieldpath.APIVersion {
	v := object.AsValue()
	if v == nil || !v.IsMap() {
		return ""
	}
	version, ok := v.AsMap().Get("apiVersion")
	if !ok || !version.IsString() {
		return ""
	}
	return fieldpath.APIVersion(version.AsString())
}
