// Package kernel is a model of a node's kernel as far as the cloak uses it: network
// namespaces, cgroups, processes and sockets, and the data plane in it, with its maps
// and its programs.
//
//	kernel.go   the kernel, and what survives what
//	maps.go     plane.Secrets: entries, grants, virtual IPs
//	pods.go     plane.Pods: what is attached where
//	agent.go    the data plane as one agent has it, and events
//	tasks.go    cgroups, processes and network namespaces, as a runtime makes them
//	dns.go      queries and answers on the way of a Pod, real addresses of hosts
//	sockets.go  connections, and the segments that leave
//	writes.go   what threads hand to TLS code, and what of it is to change
//	tls.go      one direction of a TLS connection, with real AES-GCM
//	watching.go what is there, for whoever watches from outside
//
// A [Kernel] is passive: it takes no time and starts nothing. [Options].Conduct is asked
// before each call of an agent, and may let time pass or let it fail: that is where a
// simulator comes in. What agents attach and write outlives them, as pinned maps and
// links do; a reboot ends it.
package kernel
