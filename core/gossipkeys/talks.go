package gossipkeys

import "slices"

// Stance is all of a node that decides whether two nodes understand each other:
// its ring and its verify flags.
type Stance struct {
	// Ring holds the fingerprints of the keys, the primary first. Empty means
	// the node has no ring or an empty one, which is the same.
	Ring []string

	VerifyIncoming, VerifyOutgoing bool
}

// SendsPlaintext reports whether a node of this stance writes in clear.
func (s Stance) SendsPlaintext() bool { return len(s.Ring) == 0 || !s.VerifyOutgoing }

// Talks reports whether b can read what a writes. It is directed: the answer
// for b to a may differ.
func Talks(a, b Stance) bool {
	if a.SendsPlaintext() {
		return len(b.Ring) == 0 || !b.VerifyIncoming
	}
	return slices.Contains(b.Ring, a.Ring[0])
}

// AllTalk reports whether every node can read every other. If not, it returns
// the indexes of the first pair of which to cannot read from.
func AllTalk(nodes []Stance) (from, to int, ok bool) {
	for i, a := range nodes {
		for j, b := range nodes {
			if i != j && !Talks(a, b) {
				return i, j, false
			}
		}
	}
	return 0, 0, true
}

// Adjacent reports whether nodes with ring a and nodes with ring b understand
// each other both ways, all of them encrypting. Rings are given as in Stance.
// A Secret may go from one list to another only if the two are adjacent,
// because during the change some nodes have the one and some the other.
func Adjacent(a, b []string) bool {
	strict := func(ring []string) Stance {
		return Stance{Ring: ring, VerifyIncoming: true, VerifyOutgoing: true}
	}
	return Talks(strict(a), strict(b)) && Talks(strict(b), strict(a))
}
