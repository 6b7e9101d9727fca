// Package answers rewrites the DNS answers that come to a Pod: in place of a host's real
// addresses they have its virtual IPs, which prove later that the Pod asked for this host.
//
//	ParseQuestion   what a Pod asks, on its way out
//	Rewrite         the answer to it, on its way in
//	Addresses       the answer to a question that the cloak itself has asked
//
// It works on the bytes of a packet in place, as the eBPF programs do, and holds the rules
// for both. Whether the answer comes from somebody who is believed, and to a question that
// was asked, is not its business.
package answers
