// Package trusteddns knows the DNS servers whose answers the data plane believes: what a
// name resolves to decides where a secret may go, so an answer from anybody else must
// not count.
package trusteddns
