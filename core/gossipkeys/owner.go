package gossipkeys

import (
	"bytes"
	"crypto/sha256"
	"net/netip"
)

// Owner returns the member that owns ip: the one whose name and ip together
// hash highest. All who see the same members agree, whatever the order; a
// member that goes gives up its own addresses only, and one that comes takes an
// even share from all. It returns "" if there are no members.
//
// The 4-in-6 form of an IPv4 address is the same address.
func Owner(members []string, ip netip.Addr) string {
	var owner string
	var highest []byte
	for _, name := range members {
		// No name contains the zero byte, so no two pairs give one input.
		sum := sha256.Sum256([]byte(name + "\x00" + ip.Unmap().String()))
		if c := bytes.Compare(sum[:], highest); c > 0 {
			owner, highest = name, sum[:]
		}
	}
	return owner
}
