package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quoted is a block of the README that says where it comes from.
var quoted = regexp.MustCompile("(?s)<!-- from (\\S+) -->\n```\\w*\n(.*?)```")

// The README shows code and output. Every line of it stands in the test that
// runs it, so it cannot show what the program no longer does.
func TestReadmeQuotesWhatRuns(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := quoted.FindAllStringSubmatch(string(readme), -1)
	if len(blocks) == 0 {
		t.Fatal("README.md quotes nothing: its blocks begin with <!-- from FILE -->")
	}
	for _, block := range blocks {
		source, err := os.ReadFile(filepath.Join(root, block[1]))
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]bool{}
		for line := range strings.Lines(string(source)) {
			line = strings.TrimSpace(line)
			lines[line] = true
			lines[strings.TrimSpace(strings.TrimPrefix(line, "//"))] = true
		}
		for line := range strings.Lines(block[2]) {
			if line = strings.TrimSpace(line); !lines[line] {
				t.Errorf("README.md: this line is not in %s: %s", block[1], line)
			}
		}
	}
}
