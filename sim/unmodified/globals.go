package unmodified

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// settle sets what programs share with all others, until t ends.
//
// One processor is enough for runs that are made one after the other, and goroutines that
// are woken in the same instant take turns on it in the same order.
//
// rand.Seed seeds the global source of math/rand again, which client-go draws its
// jitter from. And errors that nobody returns are dropped: what apimachinery does with
// them keeps the time of the last one, which may have been in another bubble, on another
// clock. What klog would say goes to nobody: in a storm it is the same every run.
func settle(t *testing.T) {
	t.Helper()
	processors := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	const setting = "randseednop=0"
	if debug := os.Getenv("GODEBUG"); !strings.Contains(debug, setting) {
		t.Setenv("GODEBUG", strings.TrimPrefix(debug+","+setting, ","))
	}
	state := klog.CaptureState()
	klog.SetLogger(logr.Discard())
	t.Cleanup(state.Restore)
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil                            //nolint:reassign // it is made to be replaced
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers }) //nolint:reassign // as above
}
