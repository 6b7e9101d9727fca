// Package apply keeps track of who owns which fields of an object, and applies
// configurations accordingly: what a real API server does for
// metadata.managedFields and server-side apply.
//
//	owners.go       who owns what; metadata.managedFields is its written form
//	manager.go      how a write changes that: Update, and Apply with its conflicts
//	conflict.go     the words of a conflict
//	lastapplied.go  what kubectl may do beyond that
//	scale.go        the subresource scale, which shows one field of its parent
//	types.go        schemas of the built-in kinds
//	ledger.go       the same, but worked out only when somebody asks
//
// Merging and comparing is the work of structured-merge-diff, the library that a
// real server uses. What stands around it there reads the time and draws random
// numbers, so it is done anew here; a test compares the two.
//
// # Now or later
//
// A [Manager] works eagerly: from the owners before a write and the objects
// before and after it follow the owners after it. That costs a hundred times what
// the write itself costs, and mostly nobody asks. A [Ledger] therefore notes
// what a write did beside the new version of the object, in a few words, and
// works it out when the owners of that version are wanted. The answer is the same.
//
// The package knows no requests, no storage, and of kinds only what a [Config]
// says.
package apply
