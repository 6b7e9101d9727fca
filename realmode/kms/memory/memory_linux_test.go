package memory_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seedbed-sim/seedbed/realmode/kms/memory"
)

// TestProtect: dumps and tracing are forbidden in any case, and memory is locked unless
// an error says that it is not.
func TestProtect(t *testing.T) {
	failed := memory.Protect()
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil || core.Max != 0 {
		t.Errorf("core dumps of up to %d bytes are allowed, error %v", core.Max, err)
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		t.Errorf("dumpable is %d, error %v", dumpable, err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	locked := !strings.Contains(string(status), "VmLck:\t       0 kB")
	if locked != (failed == nil) {
		t.Errorf("memory is locked: %v, and the error is %v", locked, failed)
	}
	// The process goes on, and grows.
	if grown := make([]byte, 64<<20); len(grown) == 0 || failed != nil && !strings.HasPrefix(failed.Error(), "lock memory: ") {
		t.Errorf("error %v", failed)
	}
}
