// Package encryption binds what core/encryption asks of API servers beside the Kubernetes
// API: what each has loaded, as it tells in its metrics.
package encryption
