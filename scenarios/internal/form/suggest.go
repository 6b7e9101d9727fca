package form

import (
	"slices"
	"strings"
)

// Nearest returns the name that a person most likely meant by got, or "" when
// nothing is close. Equal distances go to the earlier name.
func Nearest(got string, names []string) string {
	if got == "" {
		return ""
	}
	plain := plainName(got)
	best, bestCost := "", len([]rune(plain))/3+2
	for _, name := range names {
		candidate := plainName(name)
		cost := editDistance(plain, candidate)
		switch {
		case candidate == plain:
			cost = 0
		case len(plain) >= 4 && (strings.HasPrefix(candidate, plain) || strings.HasSuffix(candidate, plain)):
			// An abbreviation, or a name written without its prefix.
			cost = min(cost, 1)
		}
		if cost < bestCost {
			best, bestCost = name, cost
		}
	}
	return best
}

// plainName drops what people vary without meaning it: case, and the signs
// between words.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours (optimal string alignment).
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last := []int(nil), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := last[j-1]
			if x[i-1] != y[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}

// Sorted returns the names in alphabetical order, without changing the input.
func Sorted(names []string) []string {
	return slices.Sorted(slices.Values(names))
}
