package tidy

import (
	"path"
	"regexp"
	"strings"
)

// unfinished words promise something later. Written apart, so that this file
// does not find itself.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b|(?i)\b(not (yet )?implem` + `ented|unimplem` + `ented)\b`)

// promiseAllowed are uses of such a word that are names.
var promiseAllowed = []string{"context.TO" + "DO", `context\.TO` + "DO"}

// registries are the hosts that packages come from, label by label. Which one
// serves is a setting of the machine and no business of the project.
var registries = hosts(
	[]string{"proxy", "golang", "org"}, []string{"sum", "golang", "org"}, []string{"goproxy", "io"},
	[]string{"registry", "npmjs", "org"}, []string{"deb", "debian", "org"}, []string{"pypi", "org"}, []string{"crates", "io"},
)

func hosts(list ...[]string) *regexp.Regexp {
	quoted := make([]string, len(list))
	for i, labels := range list {
		quoted[i] = regexp.QuoteMeta(strings.Join(labels, "."))
	}
	return regexp.MustCompile(`\b(` + strings.Join(quoted, "|") + `)\b`)
}

// emptySkip is a skipped test without a reason.
var emptySkip = regexp.MustCompile(`\b[tb]\.Skip(Now)?\(\)`)

// words refuses unfinished work, hosts of package registries and skips that do
// not say why.
func words(t tree) []finding {
	var findings []finding
	for _, name := range t.names() {
		if binary(name) || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		lines(t[name], func(n int, line string) {
			plain := line
			for _, ok := range promiseAllowed {
				plain = strings.ReplaceAll(plain, ok, "")
			}
			if w := unfinished.FindString(plain); w != "" {
				findings = append(findings, finding{name, n, "says " + w + "; do it, or file it"})
			}
			if h := registries.FindString(line); h != "" {
				findings = append(findings, finding{name, n, "names the registry host " + h})
			}
			if emptySkip.MatchString(line) {
				findings = append(findings, finding{name, n, "skips without a reason"})
			}
		})
	}
	return findings
}

func binary(name string) bool {
	switch path.Ext(name) {
	case ".o", ".png", ".gz", ".sum":
		return true
	}
	return false
}
