package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version tells what this program is: the module's version, with the commit for builds
// from a work tree, and what it was built with.
func version() string {
	of := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		if of = info.Main.Version; of == "" {
			of = "(devel)"
		}
	}
	return fmt.Sprintf("seedbed-home %s\n%s %s/%s\n", of, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
