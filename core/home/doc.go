// Package home is the place of a node-level agent in a cluster: a grant Pod's
// home. The agent never asks the cluster anything on the path that starts work; its
// home feeds it from the side.
//
// What a home answers, and from what:
//
//	grants       fetched from the controller with the Pod's bound token, written to
//	             a directory, which is polled for *.jwt files   (fetch, grantfile, lane)
//	health       the API server answers for this Pod            (round, health)
//	readiness    a condition of the Pod, while any template is warm     (readiness)
//	scope        what the Pod is, and word when it is that no more  (scope, loss)
//	devices      the Pod's ResourceClaims, or a list                      (devices)
//	address      the Pod's IP                                            (endpoint)
//
// [New] fetches the first grant, [Home.Run] drives everything else until its context
// ends. The two directions never mix: what comes from the issuer says nothing about
// health, and what comes from the API server says nothing about grants.
//
// A loss of scope makes an agent drop everything it runs, so a home reports one only
// on positive evidence: an answer that says so, never the lack of an answer.
//
// The package judges no token: it peeks at a grant's id and lease, and trusts nothing
// in it. Package grant verifies, package drive admits.
//
// Time, files, HTTP and cgroups come through ports. Names, constants and meaning are
// those of fiberd's Kubernetes home, but for this:
//
//   - Grants returns a [Lane] to ask instead of a channel, and the health is told on the
//     monotonic clock;
//   - Clock is a port of this project and required, as are Files and Web where they are
//     needed; a zero Logger is silent;
//   - NewKube is in realmode/home, since this package knows no client.
package home
