// Package gossip is the port Gossip of core/gossipkeys on hashicorp/memberlist, over UDP
// and TCP.
//
//	agent := gossipkeys.NewAgent(gossipkeys.AgentConfig{Gossip: &gossip.Gossip{Addr: addr}, …})
//
// Keys change live: the ring that the agent changes is memberlist's own. The timing is that
// of package fakes/gossip.AgentConfig, which is what the simulator runs.
//
// Who holds a key of the ring is a member and reads all that is gossiped, and nobody else
// is; memberlist authenticates no single node. What memberlist logs goes to V(1): it holds
// addresses and names, and no keys.
package gossip
