package kernel

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"

	"github.com/seedbed-sim/seedbed/core/cloak/answers"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
)

// Entries implements plane.Secrets.
func (k *Kernel) Entries(ctx context.Context) (entries []plane.Entry, err error) {
	err = k.do(ctx, "read entries", func() error {
		for _, key := range slices.SortedFunc(maps.Keys(k.entries), placeholder.Key.Compare) {
			entries = append(entries, k.entries[key])
		}
		return nil
	})
	return entries, err
}

// PutEntry implements plane.Secrets.
func (k *Kernel) PutEntry(ctx context.Context, e plane.Entry) error {
	return k.do(ctx, "load entry", func() error {
		if _, there := k.entries[e.Key()]; !there && len(k.entries) >= k.opts.Limits.Entries {
			return full("entries", k.opts.Limits.Entries)
		}
		k.entries[e.Key()] = e
		k.index()
		return nil
	})
}

// DeleteEntry implements plane.Secrets.
func (k *Kernel) DeleteEntry(ctx context.Context, key placeholder.Key) error {
	return k.do(ctx, "delete entry", func() error {
		delete(k.entries, key)
		k.index()
		return nil
	})
}

// Grants implements plane.Secrets.
func (k *Kernel) Grants(ctx context.Context) (grants []policy.Grant, err error) {
	err = k.do(ctx, "read grants", func() error {
		grants = slices.SortedFunc(maps.Keys(k.grants), func(a, b policy.Grant) int {
			return cmp.Or(cmp.Compare(a.Cgroup, b.Cgroup), a.Key.Compare(b.Key))
		})
		return nil
	})
	return grants, err
}

// SetACL implements plane.Secrets.
func (k *Kernel) SetACL(ctx context.Context, revoke, add []policy.Grant) error {
	return k.do(ctx, "set grants", func() error {
		for _, g := range revoke {
			delete(k.grants, g)
		}
		for _, g := range add {
			if !k.grants[g] && len(k.grants) >= k.opts.Limits.Grants {
				return full("grants", k.opts.Limits.Grants)
			}
			k.grants[g] = true
			k.generation++
		}
		return nil
	})
}

// LoadVIPs implements plane.Secrets.
func (k *Kernel) LoadVIPs(ctx context.Context) (rows []virtualip.Row, err error) {
	err = k.do(ctx, "load virtual IPs", func() error {
		rows = slices.Clone(k.vips)
		return nil
	})
	return rows, err
}

// StoreVIPs implements plane.Secrets.
func (k *Kernel) StoreVIPs(ctx context.Context, rows []virtualip.Row) error {
	return k.do(ctx, "store virtual IPs", func() error {
		if len(rows) > k.opts.Limits.VIPs {
			return full("virtual IPs", k.opts.Limits.VIPs)
		}
		k.vips = slices.Clone(rows)
		k.generation++
		return nil
	})
}

// Referred implements plane.Secrets.
func (k *Kernel) Referred(ctx context.Context) (ids map[uint64]bool, err error) {
	if err := k.do(ctx, "read sockets", func() error { return nil }); err != nil {
		return nil, err
	}
	return k.InUse(), nil
}

// Expired implements plane.Resolvers.
func (k *Kernel) Expired(ctx context.Context) (rows []virtualip.Row, err error) {
	err = k.do(ctx, "read hosts that want addresses", func() error {
		rows = slices.DeleteFunc(slices.Clone(k.vips), func(r virtualip.Row) bool {
			return r.State != virtualip.Used || !k.wanting[r.ID()]
		})
		slices.SortFunc(rows, func(a, b virtualip.Row) int { return cmp.Compare(a.Host, b.Host) })
		return nil
	})
	return rows, err
}

// Learn implements plane.Resolvers.
func (k *Kernel) Learn(ctx context.Context, host uint64, real []answers.Real) error {
	return k.do(ctx, "learn addresses of a host", func() error {
		used := func(r virtualip.Row) bool { return r.State == virtualip.Used && r.ID() == host }
		if slices.ContainsFunc(k.vips, used) {
			k.learn(host, real)
		}
		return nil
	})
}

// SetTrusted implements plane.Resolvers.
func (k *Kernel) SetTrusted(ctx context.Context, servers []netip.Addr) error {
	return k.do(ctx, "trust DNS servers", func() error {
		if len(servers) > k.opts.Limits.Trusted {
			return full("DNS servers", k.opts.Limits.Trusted)
		}
		k.trusted = slices.Clone(servers)
		return nil
	})
}
