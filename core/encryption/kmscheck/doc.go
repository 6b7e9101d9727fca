// Package kmscheck tries a KMS plugin the way an API server will use it, before any
// key is made for it: it runs in the pod that encryption.KMSPreflightDeployer makes,
// beside the plugin that is to be tried and those that there are.
//
//	check.go   the tries
//	report.go  what the pod says of them in its own status
//
// It holds a plugin to all that an API server will hold it to later, when it would
// be too late: sizes, names, and that its calls agree about the key.
package kmscheck
