// Package dns is a model of what answers to names in a cluster: DNS servers, stub
// resolvers in Pods, and those who forge answers. Packets are real ones.
//
//	Zone      what is true about names
//	Server    answers from a zone, or lies, or is silent
//	Resolver  asks, takes the first answer that fits, and remembers it for longer than it may
//
// Nothing here takes time or sends anything: how a packet gets from one to the other, and
// whether it does, is the business of whoever drives them.
package dns
