// Package shape compares and normalises API objects the way a server that
// serialises them would, without serialising them.
//
// A real API server stores bytes. Two writes are the same if their bytes are,
// so nil and empty lists are equal, "0.5" CPUs are 500m, and two times within
// one second are one time; and what is read back has lost whatever the bytes
// cannot carry. This package gives those answers for Go values directly:
//
//   - [Shape.Equal] says whether two objects would be stored as the same bytes;
//   - [Shape.Normalize] changes an object into what would be read back;
//   - [Shape.Assign] makes one object equal to another, keeping the memory of
//     whatever is equal already;
//   - [Shape.Derive] copies an object, taking from an immutable one whatever is
//     equal there, so that versions of an object share what did not change;
//   - [Part] does the first of these for one top-level field, such as spec.
//
// For each Go type the walk is compiled once into closures over field offsets
// and kept for the life of the process. All functions are safe for concurrent
// use on objects that nobody writes to.
//
// The package knows Go types and JSON tags. It knows no kinds and keeps no
// objects.
package shape
