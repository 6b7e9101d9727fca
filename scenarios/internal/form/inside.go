package form

import (
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Inside returns the line and column in the file of a character of a scalar's
// value, given its offset in runes. Folding, quoting and indentation make the
// two differ, so both texts are walked together: every character of the value
// that is not white space stands, in order, in the source.
func (d *Document) Inside(at Place, offset int) (line, column int) {
	n := at.Node
	line, column = n.Line, n.Column
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line, column = line+1, 1
	}
	found := func() (int, int) { return line, column }
	source := []rune(d.line(line))
	next := func() (rune, bool) {
		for column > len(source) {
			line, column = line+1, 1
			if line > len(d.lines) {
				return 0, false
			}
			source = []rune(d.line(line))
		}
		return source[column-1], true
	}
	value := []rune(n.Value)
	offset = min(offset, len(value))
	for i := 0; i <= offset; i++ {
		if i == len(value) {
			return found()
		}
		if unicode.IsSpace(value[i]) {
			if i == offset {
				return found()
			}
			continue
		}
		for {
			r, ok := next()
			if !ok {
				return n.Line, n.Column
			}
			if r == value[i] {
				break
			}
			column++
		}
		if i < offset {
			column++
		}
	}
	return found()
}
