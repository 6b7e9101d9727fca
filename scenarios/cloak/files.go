package cloak

import "embed"

// Files holds the library of scenarios for this system.
//
//go:embed *.yaml
var Files embed.FS
