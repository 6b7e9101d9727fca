// Package openapi holds the OpenAPI documents of the built-in kinds, as a real API
// server publishes them, and makes from them what clients ask for.
//
// The documents of version 3, one for each API group and version, were recorded
// from a kube-apiserver (see README.md for which, and `make record-openapi` for
// how). They are embedded in a compressed form in which nothing is said twice
// ([Pack]), read on first use, and put together again for what a server really
// serves: [Document]. The one document of version 2, which old clients want, is
// made of those of version 3 ([V2]), with what was lost between the two.
//
// Documents of custom resources do not come from here; they are added to V2.
package openapi
