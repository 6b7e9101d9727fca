// Package kms stands in for a key management service, and for the KMS v2 plugins by
// which API servers use it: one [Vault] for a cluster, a [Plugin] for each node and
// key, and on each node the [Sockets] where plugins listen.
//
//	vault.go      keys, their rotation, and what they seal
//	plugin.go     Status, Encrypt and Decrypt
//	behaviour.go  all that can go wrong with them
//	wrong.go      wrong answers, one for each limit that an API server enforces
//	sockets.go    which plugin serves a path, and who may dial it
//	conn.go       a client's gRPC channel: deadlines, and reconnecting with a back-off
//	timers.go     virtual time for what must not wait
//
// How an API server uses what is behind a [Conn] is the business of the package
// envelope.
//
// A Plugin is used in two ways. As a k8s.io/kms service.Service it waits on a
// core/clock, for tasks. As an [Answerer] it answers at once and says how long the
// answer takes, for servers that are callbacks. It seals for real, so that what a
// plugin with another key opens is an error, and never by luck the right text. It
// draws nothing: the same calls have the same answers.
package kms
