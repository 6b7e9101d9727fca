package tidy

import (
	"path"
	"regexp"
	"strings"
)

var (
	link     = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)[^)]*\)`)
	imageTag = regexp.MustCompile(`<img[^>]*\bsrc="([^"]+)"`)
	heading  = regexp.MustCompile(`^#{1,6}\s+(.*)$`)
	notSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// links checks that each relative link of a Markdown file leads to a file or
// folder of the tree, and its anchor to a heading.
func links(t tree) []finding {
	var findings []finding
	for _, name := range t.names() {
		if path.Ext(name) != ".md" {
			continue
		}
		prose(t[name], func(n int, line string) {
			targets := link.FindAllStringSubmatch(line, -1)
			targets = append(targets, imageTag.FindAllStringSubmatch(line, -1)...)
			for _, m := range targets {
				if !t.leads(name, m[1]) {
					findings = append(findings, finding{name, n, "dead link " + m[1]})
				}
			}
		})
	}
	return findings
}

// leads says whether a link in the file from is alive. Links to other sites are
// not followed.
func (t tree) leads(from, target string) bool {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return true
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	dest := from
	if file != "" {
		dest = path.Clean(path.Join(path.Dir(from), file))
	}
	if _, ok := t[dest]; !ok {
		return !hasAnchor && t.isFolder(dest)
	}
	return !hasAnchor || path.Ext(dest) != ".md" || t.hasHeading(dest, anchor)
}

func (t tree) isFolder(name string) bool {
	for file := range t {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return name == "."
}

func (t tree) hasHeading(file, anchor string) bool {
	found := false
	prose(t[file], func(_ int, line string) {
		if m := heading.FindStringSubmatch(line); m != nil && slug(m[1]) == anchor {
			found = true
		}
	})
	return found
}

// slug is the anchor that GitHub gives a heading.
func slug(title string) string {
	return strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// prose visits the lines of a Markdown file outside fenced code.
func prose(text string, visit func(n int, line string)) {
	fenced := false
	lines(text, func(n int, line string) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			return
		}
		if !fenced {
			visit(n, line)
		}
	})
}
