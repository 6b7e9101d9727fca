package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// replayEnding ends the names of replay files.
const replayEnding = ".replay.json"

// IsReplay reports whether a path is named like a replay file.
func IsReplay(path string) bool { return strings.HasSuffix(path, replayEnding) }

// FindReplays returns the replay files at the given paths: files, or folders that are
// searched. Folders named testdata, hidden ones, and those of the names left out are not
// searched below the paths.
func FindReplays(paths []string, without ...string) ([]string, error) {
	var found []string
	for _, p := range paths {
		err := filepath.WalkDir(p, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case name != p && (leftOut(entry) || entry.IsDir() && slices.Contains(without, entry.Name())):
				return filepath.SkipDir
			case !entry.IsDir() && IsReplay(name):
				found = append(found, name)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look for replay files: %w", err)
		}
	}
	return unique(found), nil
}

// Regression is what came of repeating a history that was once kept because it broke a
// property.
type Regression struct {
	Path    string
	Name    string // of the scenario
	Failure *Failure
	Changed bool  // the program is not the one that was recorded: what could be repeated of the history was
	Err     error // the file cannot be used
}

// Regress repeats the history of a replay file. That it does not come out as recorded is
// no error here: the program has been mended since.
func (r *Registry) Regress(path string) *Regression {
	g := &Regression{Path: path}
	f, err := r.Replay(path)
	if f == nil {
		g.Err = err
		return g
	}
	g.Name, g.Failure, g.Changed = f.File.Metadata.Name, f, errors.Is(err, ErrNotRepeated)
	if f.Result == Failed || f.Result == BadInput {
		g.Err = f.Err
	}
	return g
}

// OK reports whether the history breaks nothing any more.
func (g *Regression) OK() bool { return g.Err == nil && g.Failure.Result == Held }

// Regression is the line of one replay file.
func (s Style) Regression(g *Regression) string {
	mark, colour, what := "ok", green, "held"
	switch {
	case g.Err != nil:
		mark, colour, what = "ERROR", red, g.Err.Error()
	case !g.OK():
		mark, colour = "FAIL", red
		what = fmt.Sprintf("violates %s again: %s; seedbed replay %s", g.Failure.Property, g.Failure.Found, g.Path)
	case g.Changed:
		what = "held; the program has changed since it was kept"
	}
	lead := fmt.Sprintf("%-5s  %s  ", mark, filepath.Base(g.Path))
	return s.paint(colour, mark) + strings.TrimPrefix(form.Wrap(lead, what, lineWidth), mark)
}
