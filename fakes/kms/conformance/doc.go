// Package conformance is what is expected of a KMS v2 plugin, of the model in package
// kms and of those that ship:
//
//	conformance.Run(t, func(t *testing.T) conformance.Machine { … })
//
// A [Machine] has a plugin on it, and through it the cases do what happens to plugins:
// their key is rotated, they are killed, and another runs elsewhere with the same key.
// The cases see only what an API server sees, and expect what one relies on, or those
// who rotate keys: that what was ever encrypted can be decrypted, that ids of keys are
// the same everywhere and never come back, and that nothing but the text itself comes
// out of a ciphertext.
package conformance
