package mutant

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Build builds the program of a package with the mutants planted in it and
// returns the path of the binary. The root is that of the module, the package is
// named as for go build there. Everything is written into the folder dir.
//
// The error says which mutant does not fit its file any more, or what the
// compiler has against one.
func Build(root, dir, program string, mutants []Mutant) (string, error) {
	overlay, err := Plant(root, dir, mutants)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "planted")
	// Without symbols linking takes half the time.
	cmd := exec.Command("go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", binary, program)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s with mutants: %w\n%s", program, err, out)
	}
	return binary, nil
}

// Plant writes copies of the files that the mutants change into the folder dir,
// and beside them the file for the -overlay flag of the go command, whose path it
// returns.
func Plant(root, dir string, mutants []Mutant) (overlay string, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("plant mutants: %w", err)
	}
	var files, names []string
	byFile := map[string][]Mutant{}
	var errs []error
	for _, m := range mutants {
		if !identifier.MatchString(m.Name) || slices.Contains(names, m.Name) {
			errs = append(errs, fmt.Errorf("mutant %q: the name is taken or no identifier", m.Name))
		}
		names = append(names, m.Name)
		if byFile[m.File] == nil {
			files = append(files, m.File)
		}
		byFile[m.File] = append(byFile[m.File], m)
	}
	p := &planting{root: root, dir: dir, replace: map[string]string{}}
	for _, file := range files {
		errs = append(errs, p.file(file, byFile[file]))
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": p.replace})
	if err != nil {
		return "", fmt.Errorf("plant mutants: %w", err)
	}
	return p.write(filepath.Join(dir, "overlay.json"), string(text))
}

// planting collects what an overlay replaces: by the path in the tree, the path
// of what stands there instead.
type planting struct {
	root, dir string
	replace   map[string]string
}

// file plants the mutants of one file.
func (p *planting) file(name string, mutants []Mutant) error {
	path := filepath.Join(p.root, filepath.FromSlash(name))
	src, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("plant mutants: %w", err)
	}
	text, err := plant(string(src), mutants)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	copied, err := p.write(filepath.Join(p.dir, fmt.Sprintf("%d-%s", len(p.replace), filepath.Base(path))), text)
	if err != nil {
		return err
	}
	p.replace[path] = copied
	return p.choice(filepath.Dir(path), string(src))
}

// choice adds to the package in a folder the variable that says which bug runs.
func (p *planting) choice(folder, src string) error {
	path := filepath.Join(folder, "planted.go")
	if p.replace[path] != "" {
		return nil
	}
	name, err := packageOf(src)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar planted = os.Getenv(%q)\n", name, Env)
	p.replace[path], err = p.write(filepath.Join(p.dir, fmt.Sprintf("%d-planted.go", len(p.replace))), text)
	return err
}

func (p *planting) write(path, text string) (string, error) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("plant mutants: %w", err)
	}
	return path, nil
}
