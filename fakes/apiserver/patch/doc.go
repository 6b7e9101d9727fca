// Package patch applies the patches of the Kubernetes API to documents: JSON
// patches (RFC 6902), merge patches (RFC 7386) and strategic merge patches, by
// the libraries that a real API server uses and with its answers to what is
// wrong with them.
//
// It works on documents and knows neither storage nor kinds. What the result
// means as an object is for the caller to decode and check.
package patch
