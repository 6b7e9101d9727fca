// Package controller is the process of the controllers that run once in a cluster:
// encryption at rest, the keys of gossip, and the shadows and the webhook of the cloak.
// Each is a part that is switched on by itself. Command seedbed-controller is this package
// and flags.
//
//	config.go      what a process is told
//	controller.go  from a configuration to a process that leads, or waits to
//	parts.go       what core declares, and with which ports it is wired here
//	grants.go      what the account needs, by part
//	webhook.go     the cloak's webhook, over TLS
//
// # Who writes
//
// All replicas serve the webhook. One of them leads, by the Lease of core/leaderelection,
// and that one alone runs controllers: it ends with its leadership. A leader that was
// paused may go on for a moment beside the next, as in any election by a Lease; so what
// must not be undone carries the epoch of its leader (the managed configuration of
// encryption), and every other write is bound to the version that was read.
//
// A process asks first whether the kinds that it needs are installed and whether its account
// may do what is declared, and does not start if not.
//
// # Who may read what
//
// With encryption, the account reads and writes the Secrets of the namespace of the keys,
// and of all namespaces the objects that it is to rewrite: whoever has its token has those,
// and all keys that are kept in Secrets. KMS keys are not among them; what plugins refer to
// is, by get alone, in the namespace of references. Of API servers it reads /metrics.
//
// With gossip keys alone it reads and writes one Secret by name, may create Secrets in its
// namespace, as RBAC cannot bind that to a name, and reads Nodes.
//
// With shadows it reads and writes all Secrets, as which are protected is said by the
// Secrets themselves. It keeps the values of those that are protected in memory, and of no
// others. The webhook reads Secrets and Namespaces by get; API servers send it Pods and
// protected Secrets. To serve the webhook from a process of its own, without shadows, is to
// have no process with both the right to write all Secrets and an open port.
//
// No value of a Secret is logged, nor is it in an error, a metric or an Event; keys are
// named by number or by fingerprint. The endpoints /healthz, /readyz and /metrics need no
// credentials and tell nothing of objects but how many there are of a controller's requests.
// The only file that is secret is the key of the webhook's certificate: it is read, and read
// again when it changes.
//
// What leaks when: its token, everything above until it is revoked; the key of the
// certificate, what API servers send to the webhook, to somebody who can also take its
// place in the network, and the power to change Pods that are created; a dump of the
// memory, all of it.
package controller
