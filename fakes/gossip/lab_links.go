package gossip

import "time"

// Links is the network of a [Lab]: the same everywhere, except where it is cut.
// Streams are neither lost nor duplicated nor reordered, but a cut stops them.
type Links struct {
	Delay     time.Duration // of everything
	Jitter    time.Duration // up to this much more for a packet
	Loss      uint32        // of packets, in parts per million
	Duplicate uint32        // of packets, in parts per million

	cuts  map[[2]Addr]bool // directed
	group map[Addr]int
}

// Cut stops everything sent from one endpoint to another, until Mend. It is
// directed; a stream needs both directions.
func (k *Links) Cut(from, to Addr) {
	if k.cuts == nil {
		k.cuts = make(map[[2]Addr]bool)
	}
	k.cuts[[2]Addr{from, to}] = true
}

// Mend undoes Cut.
func (k *Links) Mend(from, to Addr) { delete(k.cuts, [2]Addr{from, to}) }

// Partition separates the given groups of endpoints from each other. Endpoints
// in no group form one of their own. It replaces an earlier Partition.
func (k *Links) Partition(groups ...[]Addr) {
	k.group = make(map[Addr]int)
	for i, g := range groups {
		for _, a := range g {
			k.group[a] = i + 1
		}
	}
}

// Heal undoes Partition and every Cut.
func (k *Links) Heal() { k.group, k.cuts = nil, nil }

func (k *Links) cut(from, to Addr) bool {
	if k.group != nil && k.group[from] != k.group[to] {
		return true
	}
	return k.cuts != nil && k.cuts[[2]Addr{from, to}]
}
