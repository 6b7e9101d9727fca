// Package envelope is how a kube-apiserver uses a KMS v2 plugin: the provider of an
// EncryptionConfiguration, in one process.
//
//	provider.go  a provider: what is in force for writing, and how long
//	probe.go     when Status is asked, and what comes of its answer
//	check.go     what answers must be, and the texts of their refusals
//	seeds.go     seeds, and the keys for objects that are derived from them
//	stored.go    the form of what is stored
//
// A [Provider] makes a seed of 32 bytes, lets the plugin encrypt it once, and seals
// each object with a key derived from it, so that the plugin is asked only when its
// key changes, and when a seed is met that somebody else has made. It asks for Status
// once when it is made, then each minute, and every ten seconds while something is
// wrong. What it has may be used for writing until three minutes after the last good
// answer, and for reading for ever.
//
// The bytes are those of k8s.io/apiserver, which can read them, and the other way
// round; the tests hold the two against each other. That package cannot be used as it
// is: it draws nonces from the machine, and waits on the machine's clock.
//
// Nothing here waits. Calls to the plugin come back at once with the time that they
// take; what comes of a probe is in force when that time has passed. The package
// starts no goroutine and is used on one.
package envelope
