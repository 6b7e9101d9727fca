// Package node is the process of the agents that run on every node. Today that is the
// agent of gossip: it watches the Secret with the keys, is a member of the gossip cluster
// on memberlist, changes keys while it runs, and reports on its Node what its ring holds.
// Command seedbed-node is this package and flags.
//
// Its account reads one Secret by name and patches Nodes; see gossipkeys.AgentPermissions
// for what that means. Whoever has its token, or a dump of its memory, has the keys of
// gossip and can read and forge all of it until they are rotated. What it tells at /gossip
// are names and fingerprints.
package node
