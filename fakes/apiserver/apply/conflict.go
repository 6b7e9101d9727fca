package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
)

func compare[T cmp.Ordered](a, b T) int { return cmp.Compare(a, b) }

// errConflicts words conflicts as a real server does. There the causes of
// different managers come in random order, here in that of the message.
func errConflicts(conflicts merge.Conflicts) error {
	conflicts = slices.Clone(conflicts)
	slices.SortStableFunc(conflicts, func(a, b merge.Conflict) int { return compare(a.Manager, b.Manager) })
	causes := make([]metav1.StatusCause, 0, len(conflicts))
	for _, c := range conflicts {
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with " + title(c.Manager), Field: c.Path.String(),
		})
	}
	if len(conflicts) == 1 {
		c := conflicts[0]
		return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with 1 conflict: conflict with %s: %v", title(c.Manager), c.Path))
	}
	var lines []string
	last := ""
	for _, c := range conflicts {
		if c.Manager != last {
			last = c.Manager
			lines = append(lines, fmt.Sprintf("conflicts with %s:", title(c.Manager)))
		}
		lines = append(lines, fmt.Sprintf("- %v", c.Path))
	}
	return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with %d conflicts: %s", len(conflicts), strings.Join(lines, "\n")))
}

// title is how messages call a manager.
func title(id string) string {
	e := identified(id)
	s := fmt.Sprintf("%q", e.Manager)
	if e.Subresource != "" {
		s = fmt.Sprintf("%s with subresource %q", s, e.Subresource)
	}
	if e.Operation == metav1.ManagedFieldsOperationUpdate {
		s = fmt.Sprintf("%s using %v", s, e.APIVersion)
	}
	return s
}
