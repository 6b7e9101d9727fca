// Package kmshealth asks the KMS plugins of a node how they are, all the time, and
// reports it in the node's EncryptionNodeState: whether each is well, and what it
// calls the key that it keeps. Who rewrites objects after a key was rotated there goes
// by these reports; see encryption.NewKEKController.
package kmshealth
