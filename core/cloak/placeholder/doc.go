// Package placeholder makes what stands in for the value of a secret, and finds it
// again in what an application writes.
//
// A placeholder is swapped for the value inside an encrypted TLS record, so nothing
// may move: it has as many bytes as the value, and as many bits in the Huffman code of
// HPACK (RFC 7541), which header fields of HTTP/2 are written in. A longer code would
// overflow the length in front of it; a shorter one would need more than seven bits
// of padding, which decoders must refuse.
//
//	p, err := placeholder.Mint(entropy, value)     // kl--x7Qm…
//	for _, form := range placeholder.Forms(p, value) { … }
//
// [Forms] are the ways in which a placeholder may be written: raw, and in the Huffman
// code beginning at each bit of a byte. Each is found by a [Key] of eight bytes, and
// [Find] finds them in a text.
//
// The package knows nothing of Secrets, nor whose a placeholder is. What cannot work
// it cannot help: a client that encodes, signs or compresses the placeholder.
package placeholder
