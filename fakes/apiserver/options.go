package apiserver

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
)

// Options configure a [Store]. The zero value of every field but Clock has a
// useful meaning.
type Options struct {
	// Clock gives creation and deletion timestamps, in whole seconds. Nil means
	// a clock that stands still at 2030-01-01T00:00:00Z.
	Clock clock.PassiveClock

	// Entropy is read for uids and for the suffixes of generated names. Nil
	// means a fixed sequence that starts anew with each Store.
	Entropy io.Reader

	// Scheme says which kinds are Go types. Nil means client-go's scheme. Kinds
	// that are not in it are unstructured.
	Scheme *runtime.Scheme

	// History is how many events of each resource are remembered, for watches
	// from an old revision and for old lists; zero means 4096.
	History int

	// Guard makes every read of a stored object check that nobody changed it in
	// place, and panic with its name if somebody did. It is meant for tests and
	// costs about as much as a copy.
	Guard bool
}
