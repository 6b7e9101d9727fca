// Package policy says where a secret may go, and decides for one TLS write whether it
// goes there.
//
// [ParseHosts] and [ParsePort] read the annotations of a Secret into a [Rule], and
// [Tables.Decide] applies it: may what runs in this cgroup send the secret behind this
// key over this socket?
//
//	hosts, err := policy.ParseHosts("api.example.com")
//	verdict := tables.Decide(cgroup, key, socket)
//
// The zero Rule permits nothing, and so do the zero Tables: what could not be read or
// did not fit into a map must never become a permission.
//
// Decide is pure. The eBPF programs decide alike, and the same tuples are put to both.
package policy
