// Package cloak holds the names that the parts of the cloak share: annotations,
// labels and constants. The cloak keeps secrets from the applications that use
// them: a workload holds placeholders, and the real values appear on the wire only,
// in TLS records to a destination that the secret allows.
//
// The parts, from the leaves up:
//
//	placeholder   what stands in for a value: as long in bytes, and in HPACK's bits
//	policy        where a secret may go, and the decision for one TLS write
//	patch         the arithmetic that changes an encrypted record in flight
//	virtualip     the addresses that stand for host names
//	answers       puts these addresses into the DNS answers that come to a Pod
//	protected     what a Secret asks for, and what is wrong with it
//	references    where a Pod refers to Secrets
//	cgroups       which container a cgroup is of
//	plane         the port to the data plane in a node's kernel
//	serial        one thing after the other, for each key
//
// What runs everywhere, and what runs on each node:
//
//	shadow        a Secret with placeholders beside each that is protected
//	webhook       gives Pods the shadows, and refuses what cannot be protected
//	secretsync    loads secrets into the data plane, what gets narrower first
//	trusteddns    the DNS servers that the data plane believes
//	refresh       asks them about hosts that Pods have ceased to ask about
//	node          prepares Pods before they run, or soon after
//	nri           asks node to, in the name of the container runtime
//
// Names, constants and semantics are those of the public document of Kloak's controller,
// but for this: ports of core/kube and core/clock in place of a client, a manager and a
// logger of its own; netip.Addr in place of net.IP; a data plane behind a port; and what
// section 2 of the specification decides where the document is silent.
//
// Whenever a part is in doubt, the placeholder leaves as it is, and the request
// fails at the peer with bad credentials. Nothing is ever permitted because
// something could not be read.
package cloak
