// Package nodeagent brings the revisions of the encryption configuration to the API
// server of a node, which a kubelet runs from a manifest.
//
//	agent.go     what an agent needs, and one look at the node
//	revision.go  rollout by revisions: files of its own for each, and a restart
//	reload.go    rollout by reload: one file, which the API server loads by itself
//	manifest.go  the manifest of the API server
//	files.go     files that are there as a whole or not at all
//	index.go     which files those are
//	turn.go      whose turn it is
//	copies.go    copies of revisions, for the case that somebody deletes their Secrets
//	excuse.go    API servers whose plugins are dead, and given up
//	fallback.go  revisions that nodes make, while no Secret can be written
//	gate.go      what keeps an API server from starting with a disk of before
//	report.go    what the node reports of itself
//
// Rollout cuts revisions; the agent of each node loads the latest. By revisions, one
// node after the other restarts its API server: a Lease says whose turn it is, and who
// has it gives it back when the API server has been ready for a while. If it does not
// become ready the Lease stays, and with it all other nodes at the revision that they
// run, until a later revision repairs it. An agent never goes back to a revision
// before: objects may be encrypted already with a key that only the later one has.
//
// To change from one way of rollout to the other while a KMS key is in use restarts
// its plugin with the API server; until both are back the node answers nothing that
// needs the plugin.
//
// A node that runs a revision before the first that is safe, because its disk is one
// of before, goes to the latest at once, out of turn: what its API server writes
// others could not read. Its API server does not start before that, if the agent may
// put a gate in front of it.
package nodeagent
