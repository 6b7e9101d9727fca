// Package port puts the gossip model behind the ports of core/gossipkeys, so
// that the production agent runs on it as it runs on memberlist.
//
// The model never blocks: what takes time calls back. The ports do block. What
// lies between, parking the calling task until the call back comes, belongs to
// whoever runs tasks, and is handed in as an [Await]. A simulator has one that
// parks a task of its engine; [Drive] is one for tests on a gossip.Lab, where the
// caller itself turns the crank.
//
//	gossipkeys.Agent -> Gossip.Create -> gossip.Cluster.Create
//	                 -> Instance.Join -> Await -> gossip.Node.Join ... done()
//	                 <- InstanceOptions.OnEvent <- gossip.Config.OnEvent
//
// One [Gossip] stands for the gossip library inside one process. When that
// process dies, call [Gossip.Crash].
package port
