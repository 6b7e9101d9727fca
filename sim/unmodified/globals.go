package unmodified

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
)

// settle sets what programs share with all others, until t ends.
//
// rand.Seed seeds the global source of math/rand again, which client-go draws its
// jitter from. And errors that nobody returns are dropped: what apimachinery does with
// them keeps the time of the last one, which may have been in another bubble, on another
// clock.
func settle(t *testing.T) {
	t.Helper()
	const setting = "randseednop=0"
	if debug := os.Getenv("GODEBUG"); !strings.Contains(debug, setting) {
		t.Setenv("GODEBUG", strings.TrimPrefix(debug+","+setting, ","))
	}
	handlers := runtime.ErrorHandlers //nolint:reassign // it is made to be replaced
	runtime.ErrorHandlers = nil       //nolint:reassign // as above
	t.Cleanup(func() { runtime.ErrorHandlers = handlers })
}
