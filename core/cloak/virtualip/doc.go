// Package virtualip gives each host name that a secret is restricted to addresses of
// its own, one of IPv4 and one of IPv6. A connection to such an address proves that the
// application resolved that very name through the node: real addresses are shared by
// tenants and get other owners, these do not.
//
// The life of an address:
//
//	free -> used by a host -> retained by it -> quarantined -> free
//	             ^                 |
//	             +-----------------+  the host is used again
//
// Applications keep addresses for longer than any DNS answer allows. So a host that no
// secret needs any more keeps its address for the retention, in which connections go on
// being translated; and what is released then goes to no other host before the
// quarantine is over.
//
// A [Table] is plain data that its owner persists as [Row]s and restores after a
// restart. Rows hold no times: after a restart every retention and every quarantine
// begins anew, which can only make them longer.
package virtualip
