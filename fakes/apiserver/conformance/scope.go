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

// OutOfScope is what the fake does not get right yet, and why. Whatever is not
// listed here must agree with the record.
var OutOfScope []Exclusion
