// Package cloak holds the names that the parts of the cloak share: annotations,
// labels and constants. The cloak keeps secrets from the applications that use
// them: a workload holds placeholders, and the real values appear on the wire only,
// in TLS records to a destination that the secret allows.
//
// The parts, from the leaves up:
//
//	placeholder   what stands in for a value: as long in bytes, and in HPACK's bits
//	policy        where a secret may go, and the decision for one TLS write
//	patch         the arithmetic that changes an encrypted record in flight
//	virtualip     the addresses that stand for host names
//
// Whenever a part is in doubt, the placeholder leaves as it is, and the request
// fails at the peer with bad credentials. Nothing is ever permitted because
// something could not be read.
package cloak
