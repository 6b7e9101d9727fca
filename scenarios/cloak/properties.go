package cloak

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corenri "github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
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
	answersAreAskedFor   = "answers-are-asked-for"
	othersKeepTheirs     = "others-keep-theirs"

	socketsSpeakForThemselves = "sockets-speak-for-themselves"
)

type check = scenarios.Check

// observed is a property that observers break.
func observed(name, meaning string) scenarios.Property {
	return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) check {
		return check{Always: func() error { return s.breaches[name] }}
	})
}

// always is a property that is looked at whenever something has changed.
func always(name, meaning string, look func(*State) func() error) scenarios.Property {
	return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) check {
		found := look(s)
		return check{Always: func() error {
			if err := s.breaches[name]; err != nil {
				return err
			}
			return found()
		}}
	})
}

// eventually is a property that holds some time after all is calm.
func eventually(name, meaning string, within time.Duration, look func(*State) error) scenarios.Property {
	return eventuallyOf(name, meaning, within, func(s *State) func() error { return func() error { return look(s) } })
}

// eventuallyOf is eventually for what remembers what it has seen of a run.
func eventuallyOf(name, meaning string, within time.Duration, look func(*State) func() error) scenarios.Property {
	return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) check {
		return check{Always: func() error { return s.breaches[name] }, Eventually: look(s), Within: within}
	})
}

// ofStore looks at what is stored in the cluster, whenever that has changed.
func ofStore(look func(*State) error) func(*State) func() error {
	return func(s *State) func() error {
		var at uint64
		var found error
		return func() error {
			if now := s.world.Cluster.Store().Revision(); now != at {
				at, found = now, look(s)
			}
			return found
		}
	}
}

// properties are invariants of the specification, in its order.
func properties() []scenarios.Property {
	return slices.Concat(safety(), liveness())
}

func safety() []scenarios.Property {
	return []scenarios.Property{
		observed(valuesGoWhereTheyMay, "I1, I4: A value reaches only a host and port that its Secret allows, as the node's last sync saw it: anywhere else it is stolen."),
		scenarios.NewProperty(valuesStayHidden, "I2: No part of a value is in a Pod's environment, on its way within the Pod, in a log, an event, the trace or any object but the Secret: whoever breaks into a Pod finds placeholders.",
			func(_ *scenarios.World, s *State) check {
				return check{Always: func() error { return s.breaches[valuesStayHidden] }, Finally: s.readable}
			}),
		observed(ownSecretsOnly, "I3: A Pod has only those placeholders swapped that it refers to: a placeholder is no secret, and others learn it."),
		observed(recordsStayWhole, "I5, I6: No receiver ever sees a broken record, and no byte leaves in two versions, however segments are cut, lost and repeated: a connection that works without the cloak works with it."),
		always("addresses-stay-apart", "I7: A virtual IP stands for one host, and for no other while anybody may still know it: else connections to the one would count as connections to the other.",
			(*State).addressesApart),
		always(answersAreAskedFor, "I8: Only the answer of a trusted server to a question that a Pod has asked says where a host is: else whoever answers first decides where values go.",
			func(s *State) func() error { return s.onChangeOf((*kernel.Kernel).Heard, s.believed) }),
		always("maps-permit-no-more", "I9: The data plane permits nothing that the Secrets its last sync saw do not, whatever was full, failed or could not be read: a doubt must never become a permission.",
			func(s *State) func() error { return s.onChange(s.permitsNoMore) }),
		always("runtime-goes-on", "I10: The plugin holds the container runtime up no longer than its budget: a late answer would cost all later Pods their preparation.",
			func(s *State) func() error { return s.runtimeGoesOn }),
		observed(webhookRefuses, "I11: The webhook lets no Pod through that refers to a protected Secret itself, whatever it could not read: the Pod would get the real values."),
		always("doubtful-placeholders-rest", "I12: A placeholder that two Secrets have, or that is in a shadow which is not the Secret's own, is not swapped: nobody could say for which value.",
			func(s *State) func() error { return s.onChange(s.doubtfulRest) }),
		observed(othersKeepTheirs, "I13: An agent changes and deletes shadows only, and of a Secret only its condition: what is somebody else's is not the cloak's to spoil."),
		always("one-program-each", "I14: At most one program is attached to the network of a Pod: of two, one would be of an agent that is gone, and decide by what it knew.",
			func(s *State) func() error { return s.onChange(s.oneProgram) }),
		observed(socketsSpeakForThemselves, "I15: A value that is for one host goes only over a connection that the Pod has made to that host's virtual IP and by its name: another connection, thread or process proves nothing for it."),
		eventuallyOf("nothing-is-left", "I16: Once all is calm, no address, cgroup or grant is left of a Pod that is gone: whoever gets its number next would inherit them.",
			2*time.Minute, (*State).nothingLeft),
	}
}

func liveness() []scenarios.Property {
	return []scenarios.Property{
		eventuallyOf("shadows-fit", "L1: Once all is calm, each protected Secret has a shadow whose placeholders fit its values: without one its Pods are refused.",
			time.Minute, ofStore((*State).shadowsFit)),
		eventually(valuesArrive, "L2 to L4: Once all is calm, what honest workloads send arrives with the values in place: else they are locked out of their own services.",
			3*time.Minute, (*State).valuesArrived),
		eventually("plugins-come-back", "L5: Once all is calm, the plugin of each node is connected if its runtime serves NRI: else every Pod starts with a gap.",
			time.Minute, (*State).pluginsBack),
		eventually("resolvers-are-known", "L6: Once all is calm, each data plane trusts exactly the DNS servers that it should: one too few and nothing arrives, one too many and others decide where values go.",
			time.Minute, (*State).resolversKnown),
		always("addresses-are-released", "L7: The virtual IP of a host that nobody needs is released some time after its retention: they are not many, and new hosts would get none.",
			(*State).overdue),
		eventuallyOf("duplicates-end", "L8: Once all is calm, no two Secrets have the same placeholder: neither is swapped until one gets another.",
			time.Minute, ofStore((*State).duplicatesEnded)),
	}
}

// tenancy is whose an address was last.
type tenancy struct {
	host  string
	held  bool // still, when it was looked at last
	until time.Duration
}

// addressesApart follows the virtual IPs of all nodes.
func (s *State) addressesApart() func() error {
	last, boots := map[*node]map[netip.Addr]*tenancy{}, map[*node]int{}
	return s.onChange(func(n *node) error {
		if last[n] == nil || boots[n] != n.boots {
			// What knew an address before the power was lost is gone as well.
			last[n], boots[n] = map[netip.Addr]*tenancy{}, n.boots
		}
		return s.follow(n, last[n])
	})
}

// follow compares who has the addresses of a node with who had them.
func (s *State) follow(n *node, last map[netip.Addr]*tenancy) error {
	now := s.world.Engine().Elapsed()
	for _, t := range last {
		if t.held {
			t.held, t.until = false, now
		}
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
			before := last[a]
			if before != nil && before.host != row.Host && now-before.until < 2*s.retention() {
				return fmt.Errorf("on %s, %s went from %s to %s after %s", n.name, a, before.host, row.Host, now-before.until)
			}
			last[a] = &tenancy{host: row.Host, held: true}
		}
	}
	return nil
}

// retention is how long virtual IPs are retained.
func (s *State) retention() time.Duration {
	return cmp.Or(s.config.Retention.Std(), virtualip.DefaultRetention)
}

func (s *State) runtimeGoesOn() error {
	for _, n := range s.nodes {
		if n.runtime.Longest > corenri.ContainerBudget {
			return fmt.Errorf("the plugin of %s has held up the runtime for %s", n.name, n.runtime.Longest)
		}
	}
	return nil
}

// nothingLeft looks for what is left of Pods that are gone.
func (s *State) nothingLeft() func() error {
	left := map[*node][]string{}
	changed := s.onChangeOf((*kernel.Kernel).Turnover, func(n *node) error {
		left[n] = n.kernel.Left()
		return nil
	})
	return func() error {
		if err := changed(); err != nil {
			return err
		}
		for _, n := range s.nodes {
			if len(left[n]) > 0 {
				return fmt.Errorf("on %s, there is left of a Pod that is gone: %s", n.name, strings.Join(left[n], ", "))
			}
		}
		return nil
	}
}
