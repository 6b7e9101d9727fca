package tidy

import (
	"regexp"
	"strings"
)

var nolint = regexp.MustCompile(`^//\s*nolint\b(:[\w,\s-]*)?`)

// hard are linters that no comment may silence anywhere: they hold the layers.
var hard = []string{"depguard"}

// directives refuses comments that switch rules off where there are no
// exceptions.
func directives(files []goFile) []finding {
	var findings []finding
	for _, f := range files {
		core := strings.HasPrefix(f.name, "core/")
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if m := nolint.FindString(c.Text); m != "" {
					switch {
					case !strings.Contains(m, ":"):
						findings = append(findings, finding{f.name, f.line(c.Pos()), "nolint must name the linter"})
					case core && strings.Contains(m, "forbidigo"), containsAny(m, hard):
						findings = append(findings, finding{f.name, f.line(c.Pos()), "the layers and the rules of core have no exceptions"})
					}
				}
				if core && !f.test() && strings.HasPrefix(c.Text, "//go:build") {
					findings = append(findings, finding{f.name, f.line(c.Pos()), "core is the same code everywhere: no build constraints"})
				}
			}
		}
	}
	return findings
}

func containsAny(s string, subs []string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// modules refuses replace lines, which make a module useless to importers.
func modules(t tree) []finding {
	var findings []finding
	lines(t["go.mod"], func(n int, line string) {
		if strings.HasPrefix(strings.TrimSpace(line), "replace") {
			findings = append(findings, finding{"go.mod", n, "has a replace line: nobody can import such a module"})
		}
	})
	return findings
}
