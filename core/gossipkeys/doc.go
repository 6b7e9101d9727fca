// Package gossipkeys keeps the keys that authenticate and encrypt the gossip
// traffic of a cluster's node agents: it provisions them in a Secret, watches
// the Secret on every node, and changes the keys of a running gossip instance
// without splitting the cluster.
package gossipkeys
