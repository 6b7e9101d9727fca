// Package state keeps state where no process owns it.
package state

import (
	"sync"
	"sync/atomic"
)

var (
	limit    = 3
	seen     = map[string]bool{}
	settings struct{ verbose bool }
	mu       sync.Mutex   // want `package-level sync.Mutex: it survives a crash`
	count    atomic.Int64 // want `package-level atomic.Int64`
	table    = map[string]int{"a": 1}
)

func init() { table["b"] = 2 }

func write(k string) {
	limit++                 // want `package-level variable limit is written: it survives a crash and leaks between runs`
	seen[k] = true          // want `package-level variable seen is written`
	settings.verbose = true // want `package-level variable settings is written`
	delete(seen, k)         // want `package-level variable seen is written`
	p := &limit             // want `package-level variable limit is written`
	_ = p
	limit := 4 // shadows
	limit++
	_ = table[k]
}
