package dns

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Record is what is true about one name.
type Record struct {
	Alias    string       // another name, which the rest is about; empty for none
	Addrs    []netip.Addr // of both families
	TTL      time.Duration
	Services bool // there are records of services, with the addresses as hints
}

// Zone is what is true about names, which may share addresses, as tenants of one content
// network do. The zero Zone knows none.
type Zone struct{ records map[string]Record }

// Set makes a record true.
func (z *Zone) Set(name string, r Record) {
	if z.records == nil {
		z.records = map[string]Record{}
	}
	r.Addrs = slices.Clone(r.Addrs)
	z.records[canonical(name)] = r
}

// Get returns what is true about a name.
func (z *Zone) Get(name string) (Record, bool) {
	r, ok := z.records[canonical(name)]
	return r, ok
}

func canonical(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }
