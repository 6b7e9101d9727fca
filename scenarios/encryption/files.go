package encryption

import "embed"

// Files holds the library of scenarios for this system, in folders by theme, and the
// definitions that they name.
//
//go:embed */*.yaml */testdata/*.yaml
var Files embed.FS
