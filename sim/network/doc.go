// Package network simulates the network between hosts: delay, loss, duplication,
// reordering, and partitions in one or both directions.
//
// It is passive. A sender hands over a callback; the network decides what happens
// to the message and lets the engine call it at the moment of arrival, never, or
// twice:
//
//	net := network.New(e, network.Quality{Delay: engine.Dist{Min: time.Millisecond}})
//	net.Send("node-1", "api", arrive, request)  // a datagram, by callback
//	net.Host("api").Listen("gossip", receive)   // or to a port, by name
//	conn := net.Dial("node-1", "api")           // a stream: once and in order, or broken
//	cut := net.Partition([]string{"node-1"}, []string{"api", "node-2"})
//	cut.Heal()
//
// Each directed link has choice streams of its own, labelled "net/delay/a>b",
// "fault/net-loss/a>b" and so on, so a message more on one link changes nothing on
// another, and the shrinker can take away the faults of one kind on one link.
//
// The package knows no addresses, protocols or packet sizes.
package network
