package daemon

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version tells what this program is: the module's version, with the commit for builds
// from a work tree, and what it was built with.
func Version(program string) string {
	return fmt.Sprintf("%s %s\n%s %s/%s\n", program, Build(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Build is the version of the module.
func Build() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case !ok:
		return "(unknown)"
	case info.Main.Version == "":
		return "(devel)"
	}
	return info.Main.Version
}
