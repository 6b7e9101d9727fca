// Package registry says how each kind of object behaves: what is filled in and
// checked when it is written, which subresources it has and what they may touch,
// when its generation grows, how it is deleted, and by which fields it can be
// selected.
//
// A [Kind] is data and small functions over plain Go values. It stores nothing
// and answers no request; the server in the parent package asks it, in an order
// that is the same for all kinds:
//
//	decode   → Default
//	create   → Admit → Begin → PrepareCreate → Validate → Canonicalize
//	update   → Admit → Begin → PrepareUpdate → ValidateUpdate → Canonicalize
//	/status  → Status.Prepare → Status.Validate
//	delete   → Grace
//
// Objects may share memory with older versions of themselves, which are
// immutable. The rules here therefore replace lists, maps and pointers instead of
// writing into them, unless they set what was not set.
//
// Built-in kinds are in one file per kind or group, and [Builtin] lists them.
// [Custom] makes the kind of a custom resource, of a Go type or unstructured.
// A new built-in kind is one more file and one more line there.
//
// The rules are those of Kubernetes v1.37. Checks that no controller is likely
// to meet are left out, and so an object that a real server would refuse may be
// accepted here; the reverse is a bug.
package registry
