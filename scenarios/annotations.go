package scenarios

import (
	"fmt"
	"io"
	"strings"
)

// WriteAnnotations writes what GitHub shows beside the files of a pull request: an error
// for each scenario that is not in order.
func WriteAnnotations(out io.Writer, verdicts []Verdict) error {
	for i := range verdicts {
		v := &verdicts[i]
		var text string
		switch {
		case v.Bad != nil && v.Bad.Result == Violated:
			text = fmt.Sprintf("seed %d violates %s", v.Bad.Seed, v.Bad.Property)
			if v.Bad.Found != "" {
				text += ": " + v.Bad.Found
			}
		case v.Err != nil:
			text = v.Err.Error()
		default:
			continue
		}
		if _, err := fmt.Fprintf(out, "::error file=%s,line=1,title=%s::%s\n", annotationProperty(v.File.Path), annotationProperty(v.File.Metadata.Name), annotationText(text)); err != nil {
			return fmt.Errorf("write annotations: %w", err)
		}
	}
	return nil
}

// annotationText escapes the text of a workflow command of GitHub.
func annotationText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// annotationProperty escapes a property of one.
func annotationProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(annotationText(s))
}

// Verdict is what the exploration says of the file.
func (f *ExploredFile) Verdict() Verdict {
	v := Verdict{File: f.File, Runs: f.Runs, Shown: f.Shown, Absent: f.Absent, Bad: f.Bad}
	if f.Bad != nil {
		v.Err = f.Bad.Err
	}
	return v
}
