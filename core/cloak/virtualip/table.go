package virtualip

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// State is where in its life an address is.
type State string

// The states of an address; one that is free is in no table.
const (
	Used        State = "used"
	Retained    State = "retained"
	Quarantined State = "quarantined"
)

// Row is a pair of addresses that is not free.
type Row struct {
	Host   string // empty in quarantine
	V4, V6 netip.Addr
	State  State
}

// ID stands for the host in the data plane: a digest of its name, so that no other host
// has it, ever. It is zero without a host.
func (r Row) ID() uint64 {
	if r.Host == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(r.Host))
	return binary.BigEndian.Uint64(sum[:])
}

// Why a host has no address; the errors of Use wrap one of them.
var (
	ErrHosts     = errors.New("too many hosts")
	ErrExhausted = errors.New("all virtual IPs are taken")
)

// ErrRow is wrapped by what Restore says of a row that it does not believe.
var ErrRow = errors.New("a row of the virtual IPs is dropped")

// Table knows which addresses stand for which host. All times are readings of one
// monotonic clock. It is for one task.
type Table struct {
	cfg    Config
	rows   map[uint32]*row // by slot
	hosts  map[string]uint32
	addrs  map[netip.Addr]uint32
	cursor uint32 // the slot that was given out last
}

type row struct {
	Row
	since time.Duration // when it came into its state
}

// New returns a table in which all addresses are free.
func New(cfg Config) (*Table, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Table{cfg: cfg, rows: map[uint32]*row{}, hosts: map[string]uint32{}, addrs: map[netip.Addr]uint32{}}, nil
}

// Restore returns the table that had these rows, as far as they make sense. Each that
// does not make sense has an error, and so has each of those that contradict each other.
// What is left of them is the addresses, which are kept from everybody for the
// quarantine after the retention. Addresses outside the ranges are dropped.
func Restore(cfg Config, rows []Row, now time.Duration) (*Table, []error, error) {
	t, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	seen := census{slots: map[uint32]int{}, hosts: map[string]int{}}
	for _, r := range rows {
		seen.add(t, r)
	}
	var dropped []error
	var doubtful []uint32
	for _, r := range rows {
		slots := t.slotsOf(r)
		if !seen.sound(r, slots) {
			dropped = append(dropped, fmt.Errorf("%w: %s and %s of %q (%q) are no pair, make no sense or are there twice", ErrRow, r.V4, r.V6, r.Host, r.State))
			doubtful = append(doubtful, slots...)
			continue
		}
		t.put(slots[0], &row{Row: r, since: now})
		t.cursor = max(t.cursor, slots[0])
	}
	for _, slot := range doubtful {
		if t.rows[slot] == nil {
			v4, v6, _ := t.cfg.pair(slot)
			// As if its retention began now.
			t.put(slot, &row{Row: Row{V4: v4, V6: v6, State: Quarantined}, since: now + t.cfg.Retention})
		}
	}
	return t, dropped, nil
}

// census counts what is in rows.
type census struct {
	slots map[uint32]int
	hosts map[string]int
}

func (c *census) add(t *Table, r Row) {
	for _, slot := range t.slotsOf(r) {
		c.slots[slot]++
	}
	c.hosts[r.Host]++
}

// sound reports whether a row with these slots can be believed.
func (c *census) sound(r Row, slots []uint32) bool {
	if len(slots) != 2 || slots[0] != slots[1] || c.slots[slots[0]] != 2 {
		return false
	}
	if r.State == Quarantined {
		return r.Host == ""
	}
	return (r.State == Used || r.State == Retained) && r.Host != "" && c.hosts[r.Host] == 1
}

// slotsOf returns the slots of the addresses of a row, as far as they are in the ranges.
func (t *Table) slotsOf(r Row) (slots []uint32) {
	if slot, ok := t.cfg.slot4(r.V4); ok {
		slots = append(slots, slot)
	}
	if slot, ok := t.cfg.slot6(r.V6); ok {
		slots = append(slots, slot)
	}
	return slots
}

func (t *Table) put(slot uint32, r *row) {
	t.rows[slot] = r
	t.addrs[r.V4], t.addrs[r.V6] = slot, slot
	if r.Host != "" {
		t.hosts[r.Host] = slot
	}
}

// Use makes the table hold addresses for exactly these hosts: the others retain theirs
// from now on. A host that gets none has an error; the others are not affected.
func (t *Table) Use(now time.Duration, hosts []string) []error {
	hosts = slices.Compact(slices.Sorted(slices.Values(hosts)))
	for _, host := range slices.Sorted(maps.Keys(t.hosts)) {
		if _, wanted := slices.BinarySearch(hosts, host); !wanted {
			t.rows[t.hosts[host]].enter(Retained, now)
		}
	}
	var errs []error
	for _, host := range hosts {
		if slot, ok := t.hosts[host]; ok {
			t.rows[slot].enter(Used, now)
		} else if err := t.allocate(host, now); err != nil {
			errs = append(errs, fmt.Errorf("host %s: %w", host, err))
		}
	}
	return errs
}

func (r *row) enter(s State, now time.Duration) {
	if r.State != s {
		r.State, r.since = s, now
	}
}

// allocate takes the first free slot behind the one that was given out last, so that
// those given back lately come last.
func (t *Table) allocate(host string, now time.Duration) error {
	if len(t.hosts) >= t.cfg.Hosts {
		return fmt.Errorf("%w: %d have virtual IPs or retain them", ErrHosts, len(t.hosts))
	}
	for i := range t.cfg.slots() {
		slot := (t.cursor + 1 + i) % t.cfg.slots()
		v4, v6, ok := t.cfg.pair(slot)
		if !ok || t.rows[slot] != nil {
			continue
		}
		t.put(slot, &row{Row: Row{Host: host, V4: v4, V6: v6, State: Used}, since: now})
		t.cursor = slot
		return nil
	}
	return ErrExhausted
}

// Release lets addresses go on whose time has come: from retention to quarantine, unless
// a socket still refers to the row, and from quarantine to free. It reports whether
// anything changed.
func (t *Table) Release(now time.Duration, referred func(Row) bool) bool {
	changed := false
	for _, slot := range slices.Sorted(maps.Keys(t.rows)) {
		r := t.rows[slot]
		switch {
		case r.State == Retained && now-r.since >= t.cfg.Retention && !referred(r.Row):
			delete(t.hosts, r.Host)
			r.Host = ""
			r.enter(Quarantined, now)
			changed = true
		case r.State == Quarantined && now-r.since >= t.cfg.Quarantine && !referred(r.Row):
			delete(t.rows, slot)
			delete(t.addrs, r.V4)
			delete(t.addrs, r.V6)
			changed = true
		}
	}
	return changed
}

// Host returns the row of a host that has addresses, or retains them.
func (t *Table) Host(name string) (Row, bool) {
	slot, ok := t.hosts[name]
	if !ok {
		return Row{}, false
	}
	return t.rows[slot].Row, true
}

// Addr returns the row that an address is of.
func (t *Table) Addr(a netip.Addr) (Row, bool) {
	slot, ok := t.addrs[a]
	if !ok {
		return Row{}, false
	}
	return t.rows[slot].Row, true
}

// Rows returns all rows by their addresses: what is to be persisted.
func (t *Table) Rows() []Row {
	rows := make([]Row, 0, len(t.rows))
	for _, slot := range slices.Sorted(maps.Keys(t.rows)) {
		rows = append(rows, t.rows[slot].Row)
	}
	return rows
}
