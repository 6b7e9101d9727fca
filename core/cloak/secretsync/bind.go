package secretsync

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

const (
	// bindPatience is how often Bind looks for a Secret that the cache does not have yet,
	// and bindPeriod the time in between.
	bindPatience = 10
	bindPeriod   = 50 * time.Millisecond
)

// Bind lets what runs in a cgroup use some Secrets, and nothing else. If one of them is
// not loaded yet, it syncs first: the container is about to start. The webhook has seen
// the shadow of each, so if the cache has not, it soon will, and is waited for a little.
//
// The uses are remembered even if there is an error, and the next sync grants them.
func (s *Syncer) Bind(ctx context.Context, cg policy.Cgroup, uses []Use) error {
	for range bindPatience {
		unknown := false
		err := s.lane.Do(ctx, "", func() (err error) {
			unknown, err = s.bind(ctx, cg, uses)
			return err
		})
		if err != nil || !unknown {
			return err
		}
		if err := s.Clock.Sleep(ctx, bindPeriod); err != nil {
			return fmt.Errorf("bind cgroup %d: a Secret that it may use is not known yet: %w", cg, err)
		}
	}
	return nil
}

// bind does it once. It reports whether the cache lacks one of the Secrets.
func (s *Syncer) bind(ctx context.Context, cg policy.Cgroup, uses []Use) (unknown bool, err error) {
	s.uses[cg] = slices.Clone(uses)
	missing := slices.ContainsFunc(uses, func(u Use) bool {
		return !slices.ContainsFunc(s.loaded, func(e plane.Entry) bool { return u.covers(e.Owner) })
	})
	if missing {
		err := s.sync(ctx)
		return slices.ContainsFunc(uses, func(u Use) bool { return !s.known[u.NamespacedName] }), err
	}
	grants, err := s.Plane.Grants(ctx)
	if err != nil {
		return false, fmt.Errorf("bind cgroup %d: %w", cg, err)
	}
	mine := slices.DeleteFunc(grants, func(g policy.Grant) bool { return g.Cgroup != cg })
	want := grantsOf(cg, uses, s.loaded)
	if revoke, add := without(mine, want), without(want, mine); len(revoke)+len(add) > 0 {
		if err := s.Plane.SetACL(ctx, revoke, add); err != nil {
			return false, fmt.Errorf("bind cgroup %d: %w", cg, err)
		}
	}
	return false, nil
}

// Unbind takes all grants of a cgroup away.
func (s *Syncer) Unbind(ctx context.Context, cg policy.Cgroup) error {
	return s.lane.Do(ctx, "", func() error {
		// Known, and of no use: also a sync that comes before this succeeds revokes them.
		s.uses[cg] = nil
		grants, err := s.Plane.Grants(ctx)
		if err != nil {
			return fmt.Errorf("unbind cgroup %d: %w", cg, err)
		}
		mine := slices.DeleteFunc(grants, func(g policy.Grant) bool { return g.Cgroup != cg })
		if len(mine) > 0 {
			if err := s.Plane.SetACL(ctx, without(mine, nil), nil); err != nil {
				return fmt.Errorf("unbind cgroup %d: %w", cg, err)
			}
		}
		delete(s.uses, cg)
		return nil
	})
}

// Confirm says that all containers of this node have been bound. Until then grants that
// an agent of before has left to other cgroups stay, for their containers are running;
// from then on a sync takes them away.
func (s *Syncer) Confirm(ctx context.Context) error {
	return s.lane.Do(ctx, "", func() error {
		if s.confirmed {
			return nil
		}
		s.confirmed = true
		return s.sync(ctx)
	})
}
