// Package gossip is a deterministic model of hashicorp/memberlist v0.7: SWIM
// membership with suspicion, encrypted with a keyring that changes while it runs.
// It exists to show, thousands of times a second and exactly repeatable, what
// happens to a cluster whose nodes do not all have the same keys.
//
// # Data flow
//
// A [Cluster] holds the instances ([Node]) of one run. It is passive. Everything
// that happens comes in through one of three doors and leaves through one of two:
//
//	    Env.After fires                 Cluster.Deliver              Node.Join, Leave, ...
//	(probe, gossip, push/pull,      (from the network, or an            (from a test or
//	 suspicion, stream timeout)      attacker; sealing.go says           the agent)
//	         |                       whether it can be read)                 |
//	         v                                |                              v
//	   probe.go, relay.go                     v                        lifecycle.go
//	   transmit.go, pushpull.go ------>  rules.go: alive, suspect, dead <----+
//	   suspicion.go                           |             |
//	                                          v             v
//	                             broadcast.go: queue     Env.Emit: events
//	                                          |
//	                                          v
//	                             seal with the primary of now -> Env.Send
//
// Time, timers, random picks, the network and the trace are the [Env]'s. A
// simulator implements it on its engine, and thereby owns delay, loss, partitions
// and the choice of everything random. [Lab] is a small Env for unit tests. The
// sub-package port puts the model behind the ports of core/gossipkeys.
//
// An [Envelope] is never garbled: it carries the number of the key it is encrypted
// with, and the receiver's ring decides. [Talks] is the predicate behind that.
//
// # What makes it trustworthy
//
// The sub-package conformance runs the same scripts on this model and on the real
// library and compares distributions: first leave event, time to healing, who
// lists whom, failures to decrypt, health scores. Where they differ, the model is
// wrong.
//
// # What makes it cheap
//
// Five nodes live through 300 seconds in about a millisecond. Messages are
// small values with interned names; envelopes are cut from slabs; a gossip tick
// with nothing to say has no effect in memberlist, so here it is not even
// scheduled, while ticks that do have one come at memberlist's very instants.
//
// # What is not modelled
//
//   - Bytes: encoding, compression, checksums, nonces and padding. Sizes are, as
//     far as they limit what fits into a packet.
//   - Metadata, user messages and all delegates except the event delegate;
//     protocol versions (everybody speaks 2 and understands 1 to 5); CIDR filters;
//     DNS; the limits on concurrent push/pulls and queue depth.
//   - Races inside one instance: memberlist handles packets on several goroutines.
//     Here a packet is handled in one go: pings and acks, then news of the living,
//     then the rest, the last of the packet first.
//   - What an instance still does after Shutdown; memberlist's timers may fire once
//     more and report events. Here it is silent.
//   - A stream is a dial, a request and a response. A response that is too large
//     for the socket's buffer, or cut off half-way, does not happen.
//   - Node names that are IP addresses (memberlist then files a node's refutations
//     together with other news about it).
package gossip
