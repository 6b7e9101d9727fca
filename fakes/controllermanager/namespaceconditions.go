package controllermanager

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// remains is what an attempt to empty a namespace has left, for its conditions.
type remains struct {
	estimate   int64
	resources  []string // "configmaps. has 1 resource instances"
	finalizers map[string]int
	errs       []string
}

func (f *remains) failed(err error) { f.errs = append(f.errs, err.Error()) }

func (f *remains) add(r *resource, left some) {
	f.estimate = max(f.estimate, left.estimate)
	if left.items == 0 {
		return
	}
	f.resources = append(f.resources, fmt.Sprintf("%s.%s has %d resource instances", r.Plural, r.Group, left.items))
	if f.finalizers == nil {
		f.finalizers = map[string]int{}
	}
	for name, n := range left.finalizers {
		f.finalizers[name] += n
	}
}

// namespaceConditions are the conditions of a namespace that is being deleted, in
// their order, and what they say when all is well.
var namespaceConditions = []struct {
	typ             corev1.NamespaceConditionType
	reason, message string
}{
	{corev1.NamespaceDeletionDiscoveryFailure, "ResourcesDiscovered", "All resources successfully discovered"},
	{corev1.NamespaceDeletionGVParsingFailure, "ParsedGroupVersions", "All legacy kube types successfully parsed"},
	{corev1.NamespaceDeletionContentFailure, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"},
	{corev1.NamespaceContentRemaining, "ContentRemoved", "All content successfully removed"},
	{corev1.NamespaceFinalizersRemaining, "ContentHasNoFinalizers", "All content-preserving finalizers finished"},
}

// trouble returns what a condition says if all is not well.
func (f *remains) trouble(typ corev1.NamespaceConditionType) (reason, message string) {
	switch {
	case typ == corev1.NamespaceDeletionContentFailure && len(f.errs) > 0:
		slices.Sort(f.errs)
		return "ContentDeletionFailed", fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(f.errs), strings.Join(f.errs, ", "))
	case typ == corev1.NamespaceContentRemaining && len(f.resources) > 0:
		slices.Sort(f.resources)
		return "SomeResourcesRemain", "Some resources are remaining: " + strings.Join(f.resources, ", ")
	case typ == corev1.NamespaceFinalizersRemaining && len(f.finalizers) > 0:
		texts := make([]string, 0, len(f.finalizers))
		for name, n := range f.finalizers {
			texts = append(texts, fmt.Sprintf("%s in %d resource instances", name, n))
		}
		slices.Sort(texts)
		return "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: " + strings.Join(texts, ", ")
	}
	return "", ""
}

// conditions brings the conditions of a namespace up to date and reports whether
// that has changed any.
func (f *remains) conditions(status *corev1.NamespaceStatus, now metav1.Time) (changed bool) {
	for _, k := range namespaceConditions {
		next := corev1.NamespaceCondition{
			Type: k.typ, Status: corev1.ConditionFalse, LastTransitionTime: now, Reason: k.reason, Message: k.message,
		}
		if reason, message := f.trouble(k.typ); reason != "" {
			next.Status, next.Reason, next.Message = corev1.ConditionTrue, reason, message
		}
		i := slices.IndexFunc(status.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == k.typ })
		if i < 0 {
			status.Conditions = append(status.Conditions, next)
			changed = true
			continue
		}
		old := &status.Conditions[i]
		if old.Status == next.Status {
			next.LastTransitionTime = old.LastTransitionTime
		}
		changed = changed || *old != next
		*old = next
	}
	return changed
}
