// Package vault stands in for a HashiCorp Vault as far as a KMS plugin meets it: the
// transit secrets engine, token and AppRole authentication, namespaces and sealing, over
// the HTTP API, with the paths, fields, status codes and error texts of version 1.
//
//	vault.go    keys, tokens and roles; what happens to them
//	http.go     requests: who may make them, and how they fail
//	transit.go  the transit engine
//	auth.go     tokens and roles
//
// It seals for real. Whatever the real one would draw at random comes from a reader that
// is handed in, and its time from a clock. It has one server, without standbys and
// without replication.
package vault
