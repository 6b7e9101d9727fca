package switches

import (
	"os"
	"strconv"
	"sync/atomic"
)

// Env is the environment variable that turns a mutant on when the program starts: its
// number. Tests of a package are run with it.
const Env = "SEEDBED_MUTATION"

// None is the number of no mutant.
const None = -1

// sites is more than one package has.
const sites = 1 << 14

var (
	active  atomic.Int64
	reached [sites]atomic.Bool
)

func init() {
	active.Store(None)
	if n, err := strconv.Atoi(os.Getenv(Env)); err == nil {
		active.Store(int64(n))
	}
}

// Turn turns the mutant on, and the one before off.
func Turn(mutant int) { active.Store(int64(mutant)) }

// Forget forgets which sites were come by.
func Forget() {
	for i := range reached {
		reached[i].Store(false)
	}
}

// Reached are the sites that were come by, in order.
func Reached() []int {
	var all []int
	for i := range reached {
		if reached[i].Load() {
			all = append(all, i)
		}
	}
	return all
}

// On reports whether a mutant is on.
func On(mutant int) bool {
	if !reached[mutant].Load() {
		reached[mutant].Store(true)
	}
	return active.Load() == int64(mutant)
}

// Zero is the value, or that of nothing if the mutant is on.
func Zero[T any](mutant int, value T) T {
	if On(mutant) {
		var zero T
		return zero
	}
	return value
}

// Unversioned is the object, without its resource version if the mutant is on.
func Unversioned[O interface{ SetResourceVersion(string) }](mutant int, object O) O {
	if On(mutant) {
		object.SetResourceVersion("")
	}
	return object
}
