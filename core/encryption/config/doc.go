// Package config writes and reads what API servers load: an
// EncryptionConfiguration, and the Secret that it is kept in with what KMS
// plugins need.
//
//	providers.go  a state as an EncryptionConfiguration, and back
//	secret.go     the same in a Secret
//
// The form is that of OpenShift's encryption controllers, so that either can read
// what the other has written, but for the names of KMS providers; see [KMSName].
//
// The package decides nothing: what a configuration should be is the business of
// package state.
package config
