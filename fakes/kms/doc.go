// Package kms stands in for a key management service, and for the KMS v2 plugins by
// which API servers use it: one [Vault] for a cluster, and a [Plugin] for each node
// and key.
//
//	vault.go   keys, their rotation, and what they seal
//	plugin.go  Status, Encrypt and Decrypt, and all that can go wrong with them
//
// A Plugin is a k8s.io/kms service.Service. It seals for real, so that what a plugin
// with another key opens is an error, and never by luck the right text. It waits on a
// core/clock, and draws nothing: the same calls have the same answers.
package kms
