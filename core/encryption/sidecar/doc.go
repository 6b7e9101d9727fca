// Package sidecar writes KMS plugins into the spec of a Pod: one container for each
// KMS key of a configuration, which listens where the configuration says that API
// servers look for it.
//
//	render.go     the Pod
//	container.go  a plugin's container
//	files.go      what plugins refer to, as files
//
// A plugin is told what it needs by its environment, which its arguments may refer to
// in the way of Pods, as in --listen=$(KMS_PLUGIN_SOCKET). What was written before is
// taken out first: so to render twice is to render once, and plugins of keys that are
// gone go with them. If something is missing, the Pod stays as it was.
package sidecar
