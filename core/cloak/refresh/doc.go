// Package refresh keeps the real addresses of hosts good that nobody asks for any more:
// applications keep virtual IPs for as long as they like, and hosts move meanwhile.
//
// What is known of a host comes from the answers that Pods get. If all of it is past its
// time and connections still come, the data plane goes on with what it knew last, and says
// so ([plane.Resolvers.Expired]). A [Refresher] then asks the trusted servers itself, from
// the node, and tells the data plane what they say. It asks about hosts in use only, and
// nothing but the answer to its own question counts.
package refresh
