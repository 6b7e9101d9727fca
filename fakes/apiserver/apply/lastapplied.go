package apply

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
)

// The manager kubectl is special: it may take over what it had applied before from
// the client's side, as its annotation tells, and the annotation is kept up to
// date.
const (
	kubectl     = "kubectl"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// upgrade applies by force if kubectl's annotation covers all conflicts.
func (m *Manager) upgrade(o *Owners, live runtime.Object, config *unstructured.Unstructured, conflicts merge.Conflicts, now metav1.Time) (*unstructured.Unstructured, *Owners, error) {
	allowed, err := m.appliedBefore(live)
	if err != nil {
		return nil, nil, conflicts
	}
	var left merge.Conflicts
	for _, c := range conflicts {
		if !allowed.Has(c.Path) {
			left = append(left, c)
		}
	}
	if len(left) > 0 {
		return nil, nil, left
	}
	return m.apply(o, live, config, kubectl, true, now)
}

// appliedBefore returns the fields in the annotation that live still has, with
// the same values.
func (m *Manager) appliedBefore(live runtime.Object) (*fieldpath.Set, error) {
	text := annotation(live)
	if text == "" {
		return nil, errors.New("no last applied annotation")
	}
	liveTyped, err := m.cfg.Types.ObjectToTyped(live)
	if err != nil {
		return nil, err
	}
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	if err := json.Unmarshal([]byte(text), applied); err != nil {
		return nil, err
	}
	if v := applied.GetAPIVersion(); v != m.cfg.Kind.GroupVersion().String() {
		return nil, fmt.Errorf("last applied in version %s", v)
	}
	appliedTyped, err := m.cfg.Types.ObjectToTyped(applied)
	if err != nil {
		return nil, err
	}
	set, err := appliedTyped.ToFieldSet()
	if err != nil {
		return nil, err
	}
	diff, err := appliedTyped.Compare(liveTyped)
	if err != nil {
		return nil, err
	}
	return set.Difference(diff.Modified).Difference(diff.Added).Difference(diff.Removed), nil
}

func annotation(obj runtime.Object) string {
	a, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return a.GetAnnotations()[lastApplied]
}

// keepLastApplied writes config into the annotation of obj, if it has one. A nil
// obj is the same as live, and stays nil if the annotation does not change.
func keepLastApplied(obj *unstructured.Unstructured, live runtime.Object, config *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if obj == nil && annotation(live) == "" || obj != nil && annotation(obj) == "" {
		return obj, nil
	}
	config = config.DeepCopy()
	annotations := config.GetAnnotations()
	delete(annotations, lastApplied)
	config.SetAnnotations(annotations)
	text, err := runtime.Encode(unstructured.UnstructuredJSONScheme, config)
	if err != nil {
		return nil, fmt.Errorf("failed to build last-applied annotation: couldn't encode object into last applied annotation: %w", err)
	}
	if obj == nil {
		if annotation(live) == string(text) {
			return nil, nil
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
		if err != nil {
			return nil, fmt.Errorf("failed to set last-applied annotation: %w", err)
		}
		obj = &unstructured.Unstructured{Object: content}
	}
	annotations = obj.GetAnnotations()
	annotations[lastApplied] = string(text)
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		delete(annotations, lastApplied)
	}
	obj.SetAnnotations(annotations)
	return obj, nil
}
