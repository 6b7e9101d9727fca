package cloak

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
)

func (s *State) shadowsFit() error {
	var all corev1.SecretList
	if err := s.world.Admin().List(context.Background(), &all); err != nil {
		return err
	}
	shadows := map[string]*corev1.Secret{}
	for i := range all.Items {
		shadows[all.Items[i].Name] = &all.Items[i]
	}
	for i := range all.Items {
		original := &all.Items[i]
		if original.Labels[cloak.AnnotationSecretEnabled] != "true" || len(protected.Inspect(original).Values) > 0 {
			continue
		}
		sh := shadows[original.Name+"-kloak"]
		switch {
		case sh == nil:
			return fmt.Errorf("there is no shadow of Secret %s", original.Name)
		case !shadow.Managed(sh):
			continue // somebody else's is in its place
		case placeholder.Fits(string(sh.Data["k"]), original.Data["k"]) != placeholder.FitsAll:
			return fmt.Errorf("the placeholder of Secret %s does not fit", original.Name)
		}
	}
	return nil
}

func (s *State) valuesArrived() error {
	for _, w := range s.works {
		switch {
		case !w.wanted || w.config.Bad || w.config.Plain || len(w.config.Uses) == 0 && len(w.config.Steal) == 0:
		case w.run == nil:
			return fmt.Errorf("workload %s does not run; it was refused %d times", w.config.Name, w.refused)
		case w.exchanges == 0:
			return fmt.Errorf("nothing was sent by Pod %s", w.config.Name)
		case w.inARow == 0 && !s.config.Rogue:
			return fmt.Errorf("of what Pod %s sends, the latest has arrived with a placeholder or reached nobody", w.config.Name)
		case w.arrived == 0:
			return fmt.Errorf("nothing that Pod %s has sent arrived with its values", w.config.Name)
		}
	}
	return nil
}

// pluginsBack looks for plugins that are not connected.
func (s *State) pluginsBack() error {
	for _, n := range s.nodes {
		if n.runtime.Served() && !n.runtime.Connected() {
			return fmt.Errorf("the plugin of %s is not connected", n.name)
		}
	}
	return nil
}

// resolversKnown compares the DNS servers that are trusted with those that there are.
func (s *State) resolversKnown() error {
	want := []netip.Addr{clusterDNS}
	for _, n := range s.names.endpoints {
		want = append(want, endpointDNS(n))
	}
	slices.SortFunc(want, netip.Addr.Compare)
	for _, n := range s.nodes {
		got := n.kernel.Trusted()
		slices.SortFunc(got, netip.Addr.Compare)
		if full := s.config.Limits.Trusted; !slices.Equal(got, want) && (full == 0 || len(want) <= full) {
			return fmt.Errorf("%s trusts %v, and not %v", n.name, got, want)
		}
	}
	return nil
}

// syncs is how long it may take until an address whose time has come is released: two
// syncs, of which one may have come a moment too early.
const syncs = 2*cloak.DefaultSecretResyncPeriod + time.Minute

// retired is since when a virtual IP is retained, and nothing has happened that makes its
// retention begin anew.
type retired struct {
	node  string
	agent int // the incarnation
	host  string
}

// overdue follows the virtual IPs that are retained, and finds those that are for too long.
func (s *State) overdue() func() error {
	since, retains := map[retired]time.Duration{}, map[*node][]virtualip.Row{}
	changed := s.onChange(func(n *node) error {
		retains[n] = slices.DeleteFunc(n.kernel.Rows(), func(r virtualip.Row) bool { return r.State != virtualip.Retained })
		return nil
	})
	return func() error {
		if err := changed(); err != nil {
			return err
		}
		now := s.world.Engine().Elapsed()
		seen := map[retired]bool{}
		for _, n := range s.nodes {
			if len(retains[n]) == 0 {
				continue
			}
			referred := n.kernel.InUse()
			for _, row := range retains[n] {
				if referred[row.ID()] {
					continue
				}
				r := retired{n.name, s.world.Cluster.Process(n.name + "/agent").Incarnation(), row.Host}
				seen[r] = true
				if _, known := since[r]; !known {
					since[r] = now
				}
				if d := now - since[r]; d > s.retention()+syncs {
					return fmt.Errorf("%s has retained the virtual IP of %s for %s", n.name, row.Host, d)
				}
			}
		}
		maps.DeleteFunc(since, func(r retired, _ time.Duration) bool { return !seen[r] })
		return nil
	}
}

// duplicatesEnded looks for placeholders that two Secrets have.
func (s *State) duplicatesEnded() error {
	var all corev1.SecretList
	if err := s.world.Admin().List(context.Background(), &all); err != nil {
		return err
	}
	holders := holdersOf(&all)
	for _, key := range slices.SortedFunc(maps.Keys(holders), placeholder.Key.Compare) {
		if of := holders[key]; len(of) > 1 {
			return fmt.Errorf("the placeholder with the key %s is that of %v", key, of)
		}
	}
	return nil
}
