package mutation

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable writes how many mutants of a target were caught, by operator, and what became
// of those that were not, by the reasons of the list.
func WriteTable(w io.Writer, target string, mutants []Mutant, survivors []Survivor) error {
	reasons := map[string]string{}
	for _, s := range survivors {
		reasons[s.ID], _, _ = strings.Cut(s.Reason, ":")
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\tmutants\tcaught\tscore\tleft\n", target)
	row := func(name string, of func(*Mutant) bool) {
		n, caught := 0, 0
		left := map[string]int{}
		for i := range mutants {
			m := &mutants[i]
			switch {
			case !of(m):
				continue
			case m.Caught != "":
				caught++
			default:
				left[reasons[m.ID()]]++
			}
			n++
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", name, n, caught, percent(caught, n), leftText(left))
	}
	for _, op := range Operators() {
		row(string(op), func(m *Mutant) bool { return m.Operator == op })
	}
	row("all", func(*Mutant) bool { return true })
	return table.Flush()
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", part*100/whole)
}

func leftText(left map[string]int) string {
	var parts []string
	for _, r := range Reasons {
		if n := left[r.Word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r.Word))
		}
	}
	if n := left[""]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d unexplained", n))
	}
	return strings.Join(parts, ", ")
}
