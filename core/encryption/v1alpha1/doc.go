// Package v1alpha1 is the API of encryption at rest: what a cluster's
// administrator asks for, and what the nodes of the control plane report.
//
//	policy.go     EncryptionPolicy: what should be, and how far it has come
//	nodestate.go  EncryptionNodeState: what one node runs
//
// The manifests beside it, in crds, are generated from the types by `make
// generate`; a policy that makes no sense is refused at admission.
//
// +kubebuilder:object:generate=true
// +groupName=encryption.seedbed.dev
package v1alpha1
