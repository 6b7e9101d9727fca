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
//	negotiate.go  Accept: JSON or YAML, whole objects or their metadata
//	body.go       the body, its size and content type
//	query.go      the query parameters, as fields of an apiserver.Request
//	…             apiserver.Caller answers
//	encode.go     the answer; watch.go for a stream of events
//
// What is right or wrong about a request is decided by the server behind it;
// this package refuses only what never gets there: bad paths (404), content
// types (415), accept headers (406) and bodies that are too large (413).
//
// No goroutine is started. A watch is a body whose Read takes events from the
// server's stream and blocks while there are none.
//
// Not here: protobuf (requests are refused with 415, answers are JSON),
// OpenAPI documents, and the columns of tables beyond the common ones.
package rest
