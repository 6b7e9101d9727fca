package encryption

import "embed"

// Files holds the library of scenarios for this system, in folders by theme.
//
//go:embed */*.yaml
var Files embed.FS
