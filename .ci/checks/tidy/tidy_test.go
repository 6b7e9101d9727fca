package tidy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTree holds the repository to every rule.
func TestTree(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("list the tree: %v", err)
	}
	repo := tree{}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue // deleted, but not committed
		}
		if err != nil {
			t.Fatal(err)
		}
		repo[name] = string(data)
	}
	if len(repo) < 20 {
		t.Fatalf("the tree has only %d files", len(repo))
	}
	for _, f := range check(repo) {
		t.Error(f)
	}
}

// TestEachRuleFinds shows for each rule a tree that it refuses.
func TestEachRuleFinds(t *testing.T) {
	long := func(n int) string { return strings.Repeat("\t_ = 0\n", n) }
	const doc = "// Package a does something.\npackage a\n"
	for name, tc := range map[string]struct {
		tree tree
		want []string
	}{
		"a clean tree": {
			tree{"core/a/doc.go": doc, "core/a/a.go": "package a\n\nfunc f() {\n" + long(60) + "}\n", "README.md": "[a](core/a) [b](#b-c)\n# B, `c`\n"},
			nil,
		},
		"long file": {
			tree{"core/a/doc.go": doc, "core/a/a.go": "package a\n" + strings.Repeat("//\n", 501)},
			[]string{"core/a/a.go: has 502 lines; split it, or say in allowed.go why it may have more than 500"},
		},
		"huge test": {
			tree{"core/a/doc.go": doc, "core/a/a_test.go": "package a\n" + strings.Repeat("//\n", 700)},
			[]string{"core/a/a_test.go: has 701 lines; split it, 700 is the most"},
		},
		"long function": {
			tree{"core/a/doc.go": doc, "core/a/a.go": "package a\n\nfunc (t *T[K]) f() {\n" + long(70) + "}\n"},
			[]string{"core/a/a.go:3: func T.f has 72 lines; split it, or say in allowed.go why it may have more than 70"},
		},
		"no doc.go": {
			tree{"core/a/a.go": doc},
			[]string{"core/a: the package has no doc.go that says what it is for and what not", "core/a/a.go:1: the package comment belongs into doc.go"},
		},
		"commands and tests need none": {
			tree{"cmd/a/main.go": "// Command a runs.\npackage main\n", "sim/b/b_test.go": "package b_test\n"},
			nil,
		},
		"vague names": {
			tree{"core/util/doc.go": doc, "core/a/helpers_test.go": "package a\n"},
			[]string{
				"core/a/helpers_test.go: the name helpers says nothing; name what it holds",
				"core/util/doc.go: the name util says nothing; name what it holds",
			},
		},
		"a new wing": {
			tree{"pkg/README.md": ""},
			[]string{"pkg/README.md: the top level is fixed; pkg is not part of it"},
		},
		"unfinished": {
			tree{
				"core/a/doc.go": doc,
				"core/a/a.go":   "package a\n\n// TO" + "DO: later\nvar _ = context.TO" + "DO()\n",
				"README.md":     "Not yet implem" + "ented.\n",
			},
			[]string{"README.md:1: says Not yet implem" + "ented; do it, or file it", "core/a/a.go:3: says TO" + "DO; do it, or file it"},
		},
		"a registry": {
			tree{"Makefile": "GOPROXY=https://proxy" + ".golang.org\n"},
			[]string{"Makefile:1: names the registry host proxy" + ".golang.org"},
		},
		"a skip without a reason": {
			tree{"core/a/a_test.go": "package a\n\nfunc f(t *testing.T) { t.Skip" + "() }\n"},
			[]string{"core/a/a_test.go:3: skips without a reason"},
		},
		"silenced": {
			tree{
				"core/a/doc.go": doc,
				"core/a/a.go":   "//go:build linux\n\npackage a\n\nvar x = f() //nolint:forbidigo // because\n",
				"sim/a/doc.go":  doc,
				"sim/a/a.go":    "package a\n\nimport _ \"x\" //nolint:depguard // because\n\nvar x = 1 //nolint\n\nvar y = 2 //nolint:unused // read by the linker\n",
			},
			[]string{
				"core/a/a.go:1: core is the same code everywhere: no build constraints",
				"core/a/a.go:5: the layers and the rules of core have no exceptions",
				"sim/a/a.go:3: the layers and the rules of core have no exceptions",
				"sim/a/a.go:5: nolint must name the linter",
			},
		},
		"dead links": {
			tree{"README.md": "[a](core/b) [b](#c) <img src=\"run.svg\"> [d](https://example.com)\n```\n[e](f)\n```\n# B\n"},
			[]string{"README.md:1: dead link core/b", "README.md:1: dead link #c", "README.md:1: dead link run.svg"},
		},
		"replace": {
			tree{"go.mod": "module m\n\nreplace a => b\n"},
			[]string{"go.mod:3: has a replace line: nobody can import such a module"},
		},
		"no Go": {
			tree{"core/a/a.go": "package\n"},
			[]string{"core/a/a.go: core/a/a.go:1:9: expected 'IDENT', found 'EOF'"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range check(tc.tree) {
				if !strings.Contains(f.text, "is listed in allowed.go") {
					got = append(got, f.String())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
