package form

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a file.
type Problem struct {
	File         string
	Line, Column int      // counted from 1; both 0 when the file as a whole is meant
	Path         string   // the field, such as steps[2].wait.within; may be empty
	Message      string   // what is wrong, in lower case and without a full stop
	Nearest      string   // the closest valid name, or empty
	Allowed      []string // the valid names, in the order worth reading
	Excerpt      string   // the source line; empty where it might hold a secret
}

// Error is the problem on one line: file:line:column: path: message.
func (p Problem) Error() string { return p.where() + " " + p.what() }

// where is the place: file:line:column: path:
func (p Problem) where() string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	if p.Path != "" {
		text += ": " + p.Path
	}
	return text + ":"
}

// what is the mistake and what was probably meant.
func (p Problem) what() string {
	if p.Nearest == "" {
		return p.Message
	}
	return fmt.Sprintf("%s; did you mean %q?", p.Message, p.Nearest)
}

// Problems is every mistake found, ordered by file and position.
type Problems []Problem

// Error joins the one-line forms.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns ps as an error, or nil when there is none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// sorted orders problems as a reader meets them and drops exact repetitions.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Message == b.Message && a.Path == b.Path
	})
}

// reportWidth keeps reports readable in an ordinary terminal.
const reportWidth = 80

// Report is the long form for a person: each problem with its source line, a
// caret under the place, and the allowed names, all wrapped at 80 columns.
func (ps Problems) Report() string {
	var b strings.Builder
	for _, p := range ps {
		if line := p.Error(); len([]rune(line)) <= reportWidth {
			b.WriteString(line + "\n")
		} else {
			b.WriteString(p.where() + "\n" + Wrap("  ", p.what(), reportWidth))
		}
		if p.Excerpt != "" {
			writeExcerpt(&b, p)
		}
		if len(p.Allowed) > 0 {
			b.WriteString(Wrap("  allowed: ", strings.Join(p.Allowed, ", "), reportWidth))
		}
	}
	return b.String()
}

func writeExcerpt(b *strings.Builder, p Problem) {
	number := fmt.Sprintf("%5d", p.Line)
	line := []rune(strings.ReplaceAll(strings.TrimRight(p.Excerpt, "\r"), "\t", " "))
	caret := max(p.Column-1, 0)
	const room = reportWidth - 8
	if len(line) > room {
		from := min(max(caret-room/2, 0), len(line)-room)
		line, caret = line[from:from+room], caret-from
	}
	fmt.Fprintf(b, "%s | %s\n", number, strings.TrimRight(string(line), " "))
	fmt.Fprintf(b, "%s | %s^\n", strings.Repeat(" ", len(number)), strings.Repeat(" ", caret))
}

// Wrap breaks text at spaces so that no line is wider than width. The first
// line starts with prefix and later lines are indented by as much. The result
// ends with a newline.
func Wrap(prefix, text string, width int) string {
	var b strings.Builder
	b.WriteString(prefix)
	indent := len([]rune(prefix))
	column := indent
	for i, word := range strings.Fields(text) {
		size := len([]rune(word))
		switch {
		case i == 0:
		case column+1+size > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += size
	}
	b.WriteByte('\n')
	return b.String()
}
