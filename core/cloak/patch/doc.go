// Package patch changes an encrypted TLS record in flight, so that its receiver
// decrypts a value where the sender wrote a placeholder.
//
// In AES-GCM a bit that flips in the ciphertext flips in the plaintext, so a change of
// the text is one of the ciphertext; what it does to the tag follows from the hash key
// H alone (see [TagDelta]). No other key is needed, and nothing is decrypted.
//
// From the write of an application to its packets:
//
//	Locate    which record in the sender's buffer holds what was written
//	Entry     what changes in a record: ranges in the sequence space of TCP
//	Ring      the entries of a connection, applied to each segment that leaves
//
// A range holds the bytes of before and those of after, and is applied by comparing
// and swapping. That makes it idempotent: retransmissions, other cuts of the stream
// and being applied twice do no harm, and what does not compare is left as it is.
//
// The package holds the arithmetic for the model of the kernel and for tests of the
// eBPF programs, which do the same. It is not fast, and not constant in time.
package patch
