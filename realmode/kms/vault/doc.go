// Package vault keeps the key of a KMS plugin in the transit engine of a HashiCorp
// Vault. The key never leaves it: each seed is sent there to be sealed or opened.
//
//	provider.go  the key, its versions and their names
//	session.go   the token: where it comes from, and that it does not run out
//	client.go    requests, and what their failures mean
//
// A version is named by the namespace, the mount and the key that it is of, by its
// number and by when it was made: not by the address, for one Vault has many.
//
// What the token may do should be this and no more; with "create" a Vault would make a
// key that is missing, and nobody would notice that the one before is gone:
//
//	path "transit/keys/etcd"    { capabilities = ["read"] }
//	path "transit/encrypt/etcd" { capabilities = ["update"] }
//	path "transit/decrypt/etcd" { capabilities = ["update"] }
package vault
