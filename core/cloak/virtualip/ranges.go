package virtualip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Defaults of a Config.
const (
	DefaultRetention  = time.Hour
	DefaultQuarantine = time.Hour
	HostsMax          = 1024

	// RetentionMin is twice the longest time to live of an answer that is handed out.
	RetentionMin = 2 * time.Minute
)

// The default ranges: one for benchmarks of network devices (RFC 2544), which some
// clusters use for Services, and a unique local one.
var (
	DefaultV4 = netip.MustParsePrefix("198.18.0.0/15")
	DefaultV6 = netip.MustParsePrefix("fd6b:6c6f:616b::/64")
)

// Config says which addresses there are, and how long they are kept. The zero values
// mean the defaults.
type Config struct {
	V4, V6                netip.Prefix
	Retention, Quarantine time.Duration

	// Hosts is how many hosts can have addresses, those that retain them included.
	Hosts int
}

// ErrConfig is wrapped by what is wrong with a Config.
var ErrConfig = errors.New("invalid virtual IPs")

// withDefaults fills in the zero values, and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	if !c.V4.IsValid() {
		c.V4 = DefaultV4
	}
	if !c.V6.IsValid() {
		c.V6 = DefaultV6
	}
	if c.Retention == 0 {
		c.Retention = DefaultRetention
	}
	if c.Quarantine == 0 {
		c.Quarantine = DefaultQuarantine
	}
	if c.Hosts == 0 {
		c.Hosts = HostsMax
	}
	c.V4, c.V6 = c.V4.Masked(), c.V6.Masked()
	switch {
	case !c.V4.Addr().Is4() || c.V4.Bits() > 30:
		return c, fmt.Errorf("%w: %s is no range of IPv4 with at least four addresses", ErrConfig, c.V4)
	case !c.V6.Addr().Is6() || c.V6.Addr().Is4In6() || c.V6.Bits() > 96:
		return c, fmt.Errorf("%w: %s is no range of IPv6 of /96 or more", ErrConfig, c.V6)
	case c.Retention < RetentionMin:
		return c, fmt.Errorf("%w: a retention of %s is shorter than %s", ErrConfig, c.Retention, RetentionMin)
	case c.Quarantine < 0 || c.Hosts < 0:
		return c, fmt.Errorf("%w: a quarantine of %s and %d hosts", ErrConfig, c.Quarantine, c.Hosts)
	}
	return c, nil
}

// CheckFree refuses a Config whose ranges overlap what is there already: routes of the
// node, ranges of Pods and Services, DNS servers.
func (c Config) CheckFree(taken []netip.Prefix) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	for _, p := range taken {
		// A default route overlaps all, and says nothing.
		if p.Bits() > 0 && (p.Overlaps(c.V4) || p.Overlaps(c.V6)) {
			return fmt.Errorf("%w: %s and %s overlap %s, which is in use; choose other ranges", ErrConfig, c.V4, c.V6, p)
		}
	}
	return nil
}

// slots is how many pairs of addresses there are to try.
func (c *Config) slots() uint32 { return uint32(1) << (32 - c.V4.Bits()) }

// pair returns the addresses of a slot. Some slots have none, since some systems take
// an address that ends in 0 or 255 for one of a network.
func (c *Config) pair(slot uint32) (v4, v6 netip.Addr, ok bool) {
	b4, b6 := c.V4.Addr().As4(), c.V6.Addr().As16()
	n := binary.BigEndian.Uint32(b4[:]) + slot
	if last := n & 0xff; last == 0 || last == 0xff {
		return netip.Addr{}, netip.Addr{}, false
	}
	binary.BigEndian.PutUint32(b4[:], n)
	binary.BigEndian.PutUint32(b6[12:], slot)
	return netip.AddrFrom4(b4), netip.AddrFrom16(b6), true
}

// slot4 returns which slot an address of IPv4 is of.
func (c *Config) slot4(v4 netip.Addr) (slot uint32, ok bool) {
	if !v4.Is4() || !c.V4.Contains(v4) {
		return 0, false
	}
	b, first := v4.As4(), c.V4.Addr().As4()
	slot = binary.BigEndian.Uint32(b[:]) - binary.BigEndian.Uint32(first[:])
	_, _, ok = c.pair(slot)
	return slot, ok
}

// slot6 returns which slot an address of IPv6 is of.
func (c *Config) slot6(v6 netip.Addr) (slot uint32, ok bool) {
	if !v6.Is6() {
		return 0, false
	}
	b := v6.As16()
	slot = binary.BigEndian.Uint32(b[12:])
	if slot >= c.slots() {
		return 0, false
	}
	_, is, ok := c.pair(slot)
	return slot, ok && is == v6
}
