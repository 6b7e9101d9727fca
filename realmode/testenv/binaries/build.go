package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// A Set holds the paths of programs that have been built.
type Set map[Program]string

// Build returns where the programs are, and builds those that are missing. It
// says on log what it builds, because that takes minutes. Several processes may
// call it at once.
func Build(ctx context.Context, log io.Writer, programs ...Program) (Set, error) {
	source, err := pinsFolder(ctx)
	if err != nil {
		return nil, err
	}
	root, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	wanted := map[string][]Program{}
	for _, program := range programs {
		p, err := pinOf(program)
		if err != nil {
			return nil, err
		}
		wanted[p.name] = append(wanted[p.name], program)
	}
	set := Set{}
	for _, p := range pins {
		if len(wanted[p.name]) == 0 {
			continue
		}
		b, err := newBuild(ctx, p, filepath.Join(source, p.name), root)
		if err != nil {
			return nil, err
		}
		if err := b.provide(ctx, log, wanted[p.name]); err != nil {
			return nil, err
		}
		for _, program := range wanted[p.name] {
			set[program] = b.path(program)
		}
	}
	return set, nil
}

// build is the making of one pin's programs.
type build struct {
	pin     pin
	source  string // the folder of the module
	version string
	target  string // the folder of the programs
}

func newBuild(ctx context.Context, p pin, source, root string) (*build, error) {
	version, err := requiredVersion(ctx, source, p.module)
	if err != nil {
		return nil, err
	}
	key, err := cacheKey(ctx, source, p.linkerFlags(version))
	if err != nil {
		return nil, err
	}
	return &build{
		pin: p, source: source, version: version,
		target: filepath.Join(root, fmt.Sprintf("%s-%s-%s", p.name, version, key)),
	}, nil
}

func (b *build) path(program Program) string {
	return filepath.Join(b.target, string(program))
}

// missing are those of the programs that have not been built.
func (b *build) missing(programs []Program) ([]Program, error) {
	var out []Program
	for _, program := range programs {
		_, err := os.Stat(b.path(program))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, program)
		case err != nil:
			return nil, fmt.Errorf("look for %s: %w", program, err)
		}
	}
	return out, nil
}

func (b *build) provide(ctx context.Context, log io.Writer, programs []Program) error {
	if missing, err := b.missing(programs); err != nil || len(missing) == 0 {
		return err
	}
	if err := os.MkdirAll(b.target, 0o755); err != nil {
		return fmt.Errorf("make a folder for %s: %w", b.pin.name, err)
	}
	unlock, err := lock(filepath.Join(b.target, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	missing, err := b.missing(programs) // another process may have been faster
	if err != nil || len(missing) == 0 {
		return err
	}
	return b.compile(ctx, log, missing)
}

// compile builds in a folder inside the target, so that a program appears by
// rename. What a build left there that was killed is deleted: the lock says that
// nobody builds.
func (b *build) compile(ctx context.Context, log io.Writer, programs []Program) (err error) {
	slices.Sort(programs)
	fmt.Fprintf(log, "building %v %s into %s; this takes minutes, once\n", programs, b.version, b.target)
	scratch := filepath.Join(b.target, ".build")
	if err := errors.Join(os.RemoveAll(scratch), os.Mkdir(scratch, 0o755)); err != nil {
		return fmt.Errorf("make a folder to build %v: %w", programs, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	args := []string{"build", "-trimpath", "-ldflags", b.pin.linkerFlags(b.version), "-o", scratch + string(filepath.Separator)}
	for _, program := range programs {
		args = append(args, b.pin.packages[program])
	}
	if _, err := goCommand(ctx, b.source, args...); err != nil {
		return fmt.Errorf("build %v %s: %w", programs, b.version, err)
	}
	for _, program := range programs {
		built := filepath.Join(scratch, executableName(b.pin.packages[program]))
		if err := os.Rename(built, b.path(program)); err != nil {
			return fmt.Errorf("keep %s: %w", program, err)
		}
	}
	return nil
}

// executableName is what the go command calls the executable of a package.
func executableName(pkg string) string {
	dir, last := path.Split(pkg)
	if len(last) > 1 && last[0] == 'v' && last[1] >= '2' && last[1] <= '9' {
		return path.Base(dir) // the last element is a major version
	}
	return last
}

// goCommand runs the go command in a folder and returns what it prints. An error
// has what it said.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(said.Bytes()))
	}
	return out.Bytes(), nil
}
