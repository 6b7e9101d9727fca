package tidy

import (
	"path"
	"slices"
	"strings"
)

// vague names explain nothing about what they hold.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "shared", "stuff"}

// names refuses new wings and names that explain nothing.
func names(t tree) []finding {
	var findings []finding
	for _, name := range t.names() {
		if top, _, _ := strings.Cut(name, "/"); !slices.Contains(topLevel, top) {
			findings = append(findings, finding{name, 0, "the top level is fixed; " + top + " is not part of it"})
		}
		if strings.Contains("/"+name, "/testdata/") {
			continue // may show what is refused
		}
		for part := range strings.SplitSeq(name, "/") {
			stem := strings.TrimSuffix(strings.TrimSuffix(part, path.Ext(part)), "_test")
			if slices.Contains(vague, stem) {
				findings = append(findings, finding{name, 0, "the name " + stem + " says nothing; name what it holds"})
			}
		}
	}
	return findings
}

// packages wants a doc.go with the package comment in each package that can be
// imported.
func packages(files []goFile) []finding {
	var findings []finding
	documented, importable := map[string]bool{}, map[string]bool{}
	var order []string
	for _, f := range files {
		dir := path.Dir(f.name)
		if f.test() || f.ast.Name.Name == "main" {
			continue
		}
		if !importable[dir] {
			order = append(order, dir)
		}
		importable[dir] = true
		if path.Base(f.name) == "doc.go" && f.ast.Doc != nil {
			documented[dir] = true
		}
		if f.ast.Doc != nil && path.Base(f.name) != "doc.go" {
			findings = append(findings, finding{f.name, 1, "the package comment belongs into doc.go"})
		}
	}
	for _, dir := range order {
		if !documented[dir] {
			findings = append(findings, finding{dir, 0, "the package has no doc.go that says what it is for and what not"})
		}
	}
	return findings
}
