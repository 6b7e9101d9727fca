// Package claims reads ResourceClaims on a cluster whose versions of resource.k8s.io
// change, or that serves none.
//
// A server that does not serve a version any more answers "404 page not found", which
// says nothing about the claim. Taken for "the claim is gone" it would make every home
// of a cluster lose its scope on the day of an upgrade. So a [Reader] then asks what is
// served now, and reads the claim by that.
//
// It asks at most once in a Poll: the calls of one round share the deadline of its
// context, and by that they are known. The next round asks again, for what was served
// no longer may be served again, and a loss must rest on what each of the rounds was
// answered.
package claims
