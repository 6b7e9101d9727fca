// Package preflightpod runs the workload that tries a KMS plugin as a Pod: it is
// encryption.KMSPreflightDeployer on the Kubernetes API.
//
//	deployer.go  makes the Pod, its ServiceAccount and its Secret, and removes them
//	spec.go      what the Pod runs: the check, and the plugins beside it
//
// The Pod reports in its own status, for which its account needs a permission of its own;
// see [Permissions].
package preflightpod
