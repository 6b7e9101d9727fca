// Package localkey keeps the key of a KMS plugin in a file.
//
//	file.go      the file: its format, and what is refused
//	change.go    making one, and adding versions to it
//	provider.go  sealing and opening by the versions in it
//
// The file holds every version that there ever was, since what each has sealed must
// stay readable, and says which of them seals, the primary. Versions are only added and
// the primary only grows. A version is named by its number and by a fingerprint of the
// key, so that the same file has the same names everywhere, and two files that were
// made apart never do.
//
// A key that is on several nodes is rotated in two steps, so that no node has to open
// what it has no key for: a version is staged, the file is brought to all nodes, and
// then it is activated.
package localkey
