// Package rest puts the Kubernetes HTTP protocol in front of a fake API server.
//
// [New] makes a [Handler]. It is an http.Handler, for a socket and for tools
// that need one, and an http.RoundTripper, so that clients in the same process
// need none: [Handler.Config] is a client-go configuration for
// kubernetes.NewForConfig, dynamic.NewForConfig, metadata.NewForConfig and
// controller-runtime's manager.
//
// A request passes through these stages, each in its file:
//
//	path.go       the path: which resource, namespace, name, subresource
//	user.go       who asks: bearer token, impersonation
//	negotiate.go  Accept: JSON, YAML or protobuf; whole objects, metadata, or a table
//	body.go       the body, its size and content type
//	query.go      the query parameters, as fields of an apiserver.Request
//	gate.go       through the [Gate] to the server, or to another apiserver.Caller
//	encode.go     the answer; protobuf.go and table.go other forms of it,
//	              watch.go a stream of events
//
// What names no resource is in documents.go: discovery.go and aggregated.go say
// what is served, openapi.go and openapidocs.go what it looks like.
//
// What is right or wrong about a request is decided by the server behind it; this
// package refuses only what never gets there: bad paths (404), content types
// (415), accept headers (406) and bodies that are too large (413).
//
// # Watches
//
// No goroutine is started: whoever serves HTTP brings one for each request. A watch
// takes a few events at a time from the server's stream and blocks while there are
// none. What its client has not read stays in the stream, as references to stored
// objects, until the stream ends because it fell behind too far; a client that
// takes nothing at all for a minute is given up. An event that many watches see is
// encoded once for each format (shared.go).
//
// # What is not here
//
// Watches are never compressed, which a real server does with initial events since
// v1.37 for clients that take it. CBOR is refused, as by a server without the
// feature gate. Metrics and logs of the server answer 501.
package rest
