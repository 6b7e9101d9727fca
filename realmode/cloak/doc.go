// Package cloak binds the parts of core/cloak that run once in a cluster: the webhook,
// over the admission API of Kubernetes, and what is cached of Secrets for the shadows.
//
//	webhook.go        the webhook as an http.Handler
//	configuration.go  the webhook configurations of a cluster
//	slim.go           what is not cached of Secrets
//
// The data plane on nodes is not here.
package cloak
