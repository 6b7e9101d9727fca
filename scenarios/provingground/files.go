package provingground

import (
	"embed"
	"fmt"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// Files holds the scenario of each bug, and in the folder fixed that of its repaired
// twin: the same story, which then has to pass. They are no part of the library that is
// run by default.
//
//go:embed *.yaml fixed/*.yaml
var Files embed.FS

// Read reads the two scenarios of a bug.
func (b *Bug) Read(r *scenarios.Registry) (buggy, fixed *scenarios.File, err error) {
	read := func(path string) (*scenarios.File, error) {
		text, err := Files.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("scenario of %s: %w", b.ID, err)
		}
		return r.Parse("scenarios/provingground/"+path, text)
	}
	if buggy, err = read(b.ID + ".yaml"); err != nil {
		return nil, nil, err
	}
	fixed, err = read("fixed/" + b.ID + ".yaml")
	return buggy, fixed, err
}
