package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// arm is a cluster made of one kind of node: the model or the library. Scripts
// are written against it once and run on both.
//
// Nodes are numbered from 0. Calls about a node that is down do nothing.
type arm interface {
	// start creates the instance of a node. It replaces one that is down.
	start(node int, set settings)
	// join makes a node exchange state with others, without waiting.
	join(node int, peers ...int)
	// crash ends a node without a word; its host still answers.
	crash(node int)
	// leave says good-bye and shuts down a second later.
	leave(node int)
	// ring is the node's live keyring, nil if it has none.
	ring(node int) gossipkeys.Keyring
	// partition separates two groups; nil heals, and mends what was cut.
	partition(one []int)
	// cut stops everything that one node sends to another.
	cut(from, to int)
	// lose makes the network lose a share of all packets, in percent.
	lose(percent int)
	// health is a node's health score, -1 if it is down.
	health(node int) int
	// failSends makes the transport fail when nobody listens at the destination:
	// with an error that blames the other side, or with an ordinary one.
	failSends(blame bool)
	// sleep lets virtual time pass.
	sleep(time.Duration)
	// now is the time since the start of the run.
	now() time.Duration
	// close ends everything and returns what was seen.
	close() record
}

// settings of one instance.
type settings struct {
	lan      bool     // LAN timing instead of Local
	keys     [][]byte // nil: no ring at all
	ring     bool     // an empty ring, if there are no keys
	clearIn  bool     // VerifyIncoming off
	clearOut bool     // VerifyOutgoing off
}

// change is one event of membership: by whom and about whom.
type change struct {
	at    time.Duration
	node  int
	peer  int
	leave bool
}

// record is what both arms report about a run.
type record struct {
	changes  []change
	failures int // of decryption, of any kind
}

// delay is what each packet takes, in both arms.
const delay = time.Millisecond

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }
func nodeAddr(i int) string { return fmt.Sprintf("10.0.0.%d:7946", i+1) }

// nodeOf inverts nodeName and nodeAddr.
func nodeOf(s string) int {
	var i int
	if _, err := fmt.Sscanf(s, "node-%d", &i); err == nil {
		return i
	}
	if _, err := fmt.Sscanf(s, "10.0.0.%d:7946", &i); err == nil {
		return i - 1
	}
	return -1
}

// key makes one of the keys of the scripts: key(1), key(2), ...
func key(i byte) []byte { return slices.Repeat([]byte{i}, 32) }

// views replays the changes up to a time: who lists whom.
func (r *record) views(until time.Duration) map[int]map[int]bool {
	v := make(map[int]map[int]bool)
	for _, c := range r.changes {
		if c.at > until {
			break
		}
		if v[c.node] == nil || (c.node == c.peer && !c.leave) {
			v[c.node] = make(map[int]bool) // a node's first event is its own join
		}
		v[c.node][c.peer] = !c.leave
	}
	return v
}

// lists renders who lists whom, for the given nodes, in letters: "abc abc c".
func (r *record) lists(until time.Duration, nodes []int) string {
	v := r.views(until)
	words := make([]string, len(nodes))
	for i, n := range nodes {
		var word strings.Builder
		for peer := range 26 {
			if v[n][peer] {
				word.WriteByte(byte('a' + peer))
			}
		}
		words[i] = word.String()
	}
	return strings.Join(words, " ")
}

// leaves are the leave events in a window, except those of the given nodes about
// themselves.
func (r *record) leaves(from, to time.Duration) []change {
	var out []change
	for _, c := range r.changes {
		if c.leave && c.at >= from && c.at < to && c.node != c.peer {
			out = append(out, c)
		}
	}
	return out
}

// healed is when, counted from a time on, the views of all nodes became complete
// for good; never if they are not complete at the end.
func (r *record) healed(from, end time.Duration, nodes []int) time.Duration {
	v := r.views(from)
	complete := func() bool {
		for _, n := range nodes {
			for _, m := range nodes {
				if !v[n][m] {
					return false
				}
			}
		}
		return true
	}
	since, whole := time.Duration(0), complete()
	for _, c := range r.changes {
		if c.at <= from || c.at > end {
			continue
		}
		if v[c.node] == nil {
			v[c.node] = make(map[int]bool)
		}
		v[c.node][c.peer] = !c.leave
		if now := complete(); now != whole {
			whole, since = now, c.at-from
		}
	}
	if !whole {
		return never
	}
	return since
}

// never is the healing time of what did not heal.
const never = time.Duration(-1)
