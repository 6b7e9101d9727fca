// Package gossipkeys keeps the keys that authenticate and encrypt the gossip
// traffic of a cluster's node agents: it provisions them in a Secret, watches
// the Secret on every node, changes the keys of running gossip instances, and
// rotates them without any two nodes becoming deaf to each other.
//
// # How keys flow
//
//	           entropy
//	              |
//	Provisioner --+--> Secret <----- Rotator (or a person) <--+
//	(controller)   create,  |  add, flip, drop                |
//	               fill     v                                 |
//	                  SecretWatcher      on every node        |
//	                        | OnKeys, OnVersion               |
//	                        v                                 |
//	                      Agent --ApplyKeys--> Keyring        |
//	                        | Report                          |
//	                        v                                 |
//	                 annotation of the Node ------------------+
//
// The text in the Secret is read by [ParseKeys] and written by [FormatKeys]. The
// first key of a list encrypts, all of them decrypt: a list is [Keys], and what
// two lists mean for each other is said by [Talks], [Adjacent] and [CheckEdit].
//
// [Provisioner] makes sure that there is a key, and never changes one that is
// there. [SecretWatcher] delivers lists; [Agent] creates its instance when the
// first arrives, and keeps the ring at the latest one with [ApplyKeys]. When
// the ring holds it, the agent reports so. [Rotator] takes a step only when
// every node has reported the one before.
//
// # Wiring
//
// Nothing here runs by itself. Provisioner, SecretWatcher, Agent and Rotator give
// out kube.Controllers for the process's driver, which also feeds the cache that
// they read; Agent.Run is a blocking call of its own. See the examples.
//
// Production passes crypto/rand.Reader, memberlist and the API server for the
// ports; the simulator its own. A node's SecretWatcher should have
// [WithLiveStart], or a restart against a lagging API server can bring a node up
// with a list from the past, behind the back of a Rotator that has heard it
// report a newer one. It needs [WithVersions] too, for Agent.OnVersion: without
// versions a node's reports convince nobody.
//
// # What it does not do
//
// It does not tell nodes apart: who holds a key is every node. It does not stop
// a person from editing the Secret in an unsafe way; Rotator.Edit is the way that
// refuses. It does not protect a cluster whose Secret is deleted while no
// Provisioner runs that knows the keys: a new key appears, and the agents swap.
//
// # Departures from the reference
//
// The names are those of antrea's package memberlistkeys. Different are:
//
//   - Keys are [Key] values, not byte slices. A list can be copied and compared
//     without aliasing, and cannot be printed by accident.
//   - Ports in place of a clientset, and required parameters in place of
//     defaults: entropy, clock and API have no default that is right both in
//     production and in a simulation.
//   - Provisioner.Controller in place of Run, and SecretWatcher.Watch returns a
//     controller in place of taking a stop channel: a driver with informers,
//     queues and retries exists once per process, and whoever drives decides
//     when to stop, by a context.
//   - A second Watch panics; upstream would replace the handler without a word.
//   - The whole list is installed. Upstream installs the first key only, which
//     splits the cluster on every change; [HardSwap] does the same.
//   - Versions, reports and the Rotator are new.
package gossipkeys
