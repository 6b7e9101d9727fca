// Package crd makes kinds of CustomResourceDefinitions, on the libraries of the
// Kubernetes apiextensions server. It stores nothing and answers no request.
//
// # How data flows
//
// [Cache.Validate] checks a definition as it is written. Once its names are
// accepted ([Names]), [Cache.Definition] turns it into a [Definition], whose
// [Definition.Entries] are what a registry serves for it: one kind for each served
// version. Such a kind differs from one that is registered in Go by having a
// schema:
//
//	read from a client   Coerce (prune, with the paths of what is unknown), Default
//	validate             the version's schema, lists, embedded objects, rules in CEL
//	write to the store   Save: converted to the storage version, pruned, defaulted
//	read from the store  Load: pruned and defaulted, converted, pruned again
//
// # What is compiled, and when
//
// A schema is compiled when the first object of its version is read or written,
// once for all that share a [Cache]. Compiled definitions are immutable, so one
// Cache serves any number of servers, also at once: it holds results of pure
// functions of their input and nothing else, and sharing it shows nowhere.
//
// # Differences from a real server
//
// A real server reports the causes of an invalid object in random order, those that
// rules find after all others; here both groups are sorted. Rules that run out of their cost budget do so in a real server at a
// rule that is chosen at random; here the object as a whole is named.
package crd
