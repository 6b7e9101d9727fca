package conformance

import "strings"

// An Exclusion is something that the fake is not expected to get right yet.
type Exclusion struct {
	// Case is the number of the case, Step the id of a step in it, Field the
	// beginning of a [Difference]'s field. An empty Case, Step or Field means
	// any.
	Case, Step, Field string

	Reason string
}

// excuse finds the exclusion that covers a difference, or nil. With a nil step
// it looks for one that covers the whole case.
func excuse(excluded []Exclusion, c *Case, step *Step, d Difference) *Exclusion {
	for i := range excluded {
		e := &excluded[i]
		if e.Case != "" && e.Case != c.Number() {
			continue
		}
		if step == nil {
			if e.Case != "" && e.Step == "" && e.Field == "" {
				return e
			}
			continue
		}
		if (e.Step == "" || e.Step == step.ID) && strings.HasPrefix(d.Field, e.Field) {
			return e
		}
	}
	return nil
}

// Reasons that several exclusions share.
const (
	noApply         = "server-side apply is not modelled yet"
	noManagedFields = "managed fields are not tracked yet"
)

// OutOfScope is what the fake does not get right yet, and why. Whatever is not
// listed here must agree with the record.
var OutOfScope = []Exclusion{
	{Case: "001", Field: `fields["*"].metadata.managedFields`, Reason: noManagedFields},
	{Case: "018", Reason: noManagedFields},
	{Case: "019", Reason: noManagedFields},
	{Case: "156", Step: "dep2", Field: `fields["metadata.managedFields`, Reason: noManagedFields},
	{Case: "132", Step: "gen", Field: `fields["metadata.annotations"].seen`, Reason: noManagedFields},
	{Case: "132", Step: "dep", Field: `fields["metadata.annotations"].seen`, Reason: noManagedFields},

	{Case: "066", Reason: noApply},
	{Case: "067", Reason: noApply},
	{Case: "069", Reason: noApply},
	{Case: "070", Reason: noApply},
	{Case: "072", Reason: noApply},
	{Case: "073", Reason: noApply},
	{Case: "132", Step: "apply", Reason: noApply},
	{Case: "142", Step: "apply", Reason: noApply},
	{Case: "178", Reason: noApply},
	{Case: "190", Reason: noApply},

	{Case: "120", Step: "cr", Field: `fields["*"].metadata.managedFields`, Reason: noManagedFields},
	{Case: "121", Step: "both", Field: `fields["metadata.managedFields"]`, Reason: noManagedFields},
	{Case: "124", Step: "getv1", Field: `fields["metadata.managedFields`, Reason: noManagedFields},
	{Case: "126", Reason: noApply},

	{Case: "171", Reason: noApply},
}
