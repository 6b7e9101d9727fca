package cloak

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/cloak"
	corenri "github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// Names of the properties that observers break.
const (
	valuesStayHidden     = "values-stay-hidden"
	valuesGoWhereTheyMay = "values-go-where-they-may"
	ownSecretsOnly       = "own-secrets-only"
	recordsStayWhole     = "records-stay-whole"
	valuesArrive         = "values-arrive"
	webhookRefuses       = "webhook-refuses"
)

// properties are invariants of the specification, in its order.
func properties() []scenarios.Property {
	type check = scenarios.Check
	observed := func(name, meaning string) scenarios.Property {
		return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) check {
			return check{Always: func() error { return s.breaches[name] }}
		})
	}
	eventually := func(name, meaning string, within time.Duration, look func(*State) error) scenarios.Property {
		return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) check {
			return check{Always: func() error { return s.breaches[name] }, Eventually: func() error { return look(s) }, Within: within}
		})
	}
	return []scenarios.Property{
		observed(valuesGoWhereTheyMay, "I1, I4: A value reaches only a host and port that its Secret allows, as the node's last sync saw it: anywhere else it is stolen."),
		scenarios.NewProperty(valuesStayHidden, "I2: No part of a value is in a Pod's environment, on its way within the Pod, in a log, an event or any object but the Secret: whoever breaks into a Pod finds placeholders.",
			func(_ *scenarios.World, s *State) check {
				return check{Always: func() error { return s.breaches[valuesStayHidden] }, Finally: s.readable}
			}),
		observed(ownSecretsOnly, "I3: A Pod has only those placeholders swapped that it refers to: a placeholder is no secret, and others learn it."),
		observed(recordsStayWhole, "I5, I6: No receiver ever sees a broken record, however segments are cut, lost and repeated: a connection that works without the cloak works with it."),
		scenarios.NewProperty("addresses-stay-apart", "I7: A virtual IP stands for one host, and for no other while anybody may still know it: else connections to the one would count as connections to the other.",
			func(_ *scenarios.World, s *State) check {
				return check{Always: s.addressesApart(map[string]map[netip.Addr]tenancy{})}
			}),
		scenarios.NewProperty("runtime-goes-on", "I10: The plugin holds the container runtime up no longer than its budget: a late answer would cost all later Pods their preparation.",
			func(_ *scenarios.World, s *State) check { return check{Always: s.runtimeGoesOn} }),
		observed(webhookRefuses, "I11: The webhook lets no Pod through that refers to a protected Secret itself, whatever it could not read: the Pod would get the real values."),
		eventually("nothing-is-left", "I16: Once all is calm, no address, cgroup or grant is left of a Pod that is gone: whoever gets its number next would inherit them.",
			2*time.Minute, (*State).nothingLeft),
		eventually("shadows-fit", "L1: Once all is calm, each protected Secret has a shadow whose placeholders fit its values: without one its Pods are refused.",
			time.Minute, (*State).shadowsFit),
		eventually(valuesArrive, "L2 to L6: Once all is calm, what honest workloads send arrives with the values in place: else they are locked out of their own services.",
			3*time.Minute, (*State).valuesArrived),
	}
}

// tenancy is whose an address was last.
type tenancy struct {
	host  string
	until time.Duration
}

// addressesApart follows the virtual IPs of all nodes.
func (s *State) addressesApart(last map[string]map[netip.Addr]tenancy) func() error {
	boots := map[string]int{}
	return func() error {
		now := s.world.Engine().Elapsed()
		for _, n := range s.nodes {
			if last[n.name] == nil || boots[n.name] != n.boots {
				// What knew an address before the power was lost is gone as well.
				last[n.name], boots[n.name] = map[netip.Addr]tenancy{}, n.boots
			}
			seen := map[netip.Addr]string{}
			for _, row := range n.kernel.Rows() {
				for _, a := range []netip.Addr{row.V4, row.V6} {
					if other, shared := seen[a]; shared {
						return fmt.Errorf("on %s, %s is of %q and of %q", n.name, a, other, row.Host)
					}
					seen[a] = row.Host
					if row.Host == "" {
						continue
					}
					before := last[n.name][a]
					if before.host != "" && before.host != row.Host && now-before.until < virtualip.DefaultRetention+virtualip.DefaultQuarantine {
						return fmt.Errorf("on %s, %s went from %s to %s after %s", n.name, a, before.host, row.Host, now-before.until)
					}
					last[n.name][a] = tenancy{row.Host, now}
				}
			}
		}
		return nil
	}
}

func (s *State) runtimeGoesOn() error {
	for _, n := range s.nodes {
		if n.runtime.Longest > corenri.ContainerBudget {
			return fmt.Errorf("the plugin of %s has held up the runtime for %s", n.name, n.runtime.Longest)
		}
	}
	return nil
}

func (s *State) nothingLeft() error {
	for _, n := range s.nodes {
		if left := n.kernel.Left(); len(left) > 0 {
			return fmt.Errorf("on %s, there is left of a Pod that is gone: %s", n.name, strings.Join(left, ", "))
		}
	}
	return nil
}

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
		case !w.wanted || w.config.Bad:
		case w.run == nil:
			return fmt.Errorf("workload %s does not run; it was refused %d times", w.config.Name, w.refused)
		case w.exchanges == 0:
			return fmt.Errorf("nothing was sent by Pod %s", w.config.Name)
		case w.inARow == 0 && !s.config.Rogue:
			return fmt.Errorf("of what Pod %s sends, the latest has arrived with a placeholder", w.config.Name)
		case w.arrived == 0:
			return fmt.Errorf("nothing that Pod %s has sent arrived with its values", w.config.Name)
		}
	}
	return nil
}
