package cloak_test

import (
	"github.com/seedbed-sim/seedbed/scenarios/internal/mutant"
	"github.com/seedbed-sim/seedbed/scenarios/internal/planted"
)

const (
	core  = "core/cloak/"
	model = "fakes/kernel/"
)

// plantedBugs lists at least one bug for each property, in the order of the properties.
var plantedBugs = []planted.Bug{
	{
		Bug: "the host of a socket does not matter", Property: "values-go-where-they-may",
		Scenario: "06-one-content-network.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "anyHost", File: core + "policy/decide.go", Old: "case !rule.Hosts.permit(s):", New: "case false:"},
	},
	{
		Bug: "an entry that is to go stays", Property: "values-go-where-they-may",
		Scenario: "11-the-agent-dies.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "entryStays", File: core + "secretsync/syncer.go", Old: "if w == nil || w.Owner != e.Owner", New: "if w == nil {\n\t\t\tcontinue\n\t\t}\n\t\tif w.Owner != e.Owner"},
	},
	{
		Bug: "what the handshake names does not matter", Property: "values-go-where-they-may",
		Scenario: "06-one-content-network.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "anyServerName", File: model + "sockets.go", Old: "if strings.EqualFold(d.ServerName, row.Host) {", New: "if strings.EqualFold(row.Host, row.Host) {"},
	},
	{
		Bug: "the webhook leaves references as they are", Property: "values-stay-hidden",
		Scenario: "01-a-value-arrives.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "notSwapped", File: core + "webhook/pods.go", Old: "*ref.Name = into", New: "_ = into"},
	},
	{
		Bug: "records are changed within the Pod", Property: "values-stay-hidden",
		Scenario: "01-a-value-arrives.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "patchedInside", File: model + "sockets.go", Old: "wire = slices.Clone(inside)", New: "wire = inside"},
	},
	{
		Bug: "each container may use each secret", Property: "own-secrets-only",
		Scenario: "05-stolen-placeholder.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "everybodyMay", File: core + "policy/decide.go", Old: "granted := t.Grants[Grant{cgroup, key}]", New: "granted := true"},
	},
	{
		Bug: "the tag is that of a shorter record", Property: "records-stay-whole",
		Scenario: "01-a-value-arrives.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "wrongTag", File: core + "patch/field.go", Old: "h.Pow((n+15)/16 - last)", New: "h.Pow((n + 15)/16 - last - 1)"},
	},
	{
		Bug: "what is sent again is not changed again", Property: "records-stay-whole",
		Scenario: "02-rotated-in-flight.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "onceOnly", File: core + "patch/ring.go", Old: "e.applied = true", New: "e.broken = true"},
	},
	{
		Bug: "a network is detached while its Pod runs", Property: "records-stay-whole",
		Scenario: "18-deleted-by-force.yaml", Seeds: 20,
		Mutant: mutant.Mutant{Name: "detachedEarly", File: model + "pods.go", Old: "for _, p := range k.processes {\n\t\t\tif p.netns == id {", New: "for _, p := range k.processes {\n\t\t\tif false && p.netns == id {"},
	},
	{
		Bug: "a retained address is free once the agent restarts", Property: "addresses-stay-apart",
		Scenario: "16-addresses-outlive-agents.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "nothingRestored", File: core + "virtualip/table.go",
			Old: "for _, r := range rows {\n\t\tslots := t.slotsOf(r)", New: "for _, r := range rows[:0] {\n\t\tslots := t.slotsOf(r)",
		},
	},
	{
		Bug: "the plugin waits four times its budget", Property: "runtime-goes-on",
		Scenario: "09-a-slow-data-plane.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "overBudget", File: core + "nri/plugin.go",
			Old: "ctx, cancel := p.Clock.WithTimeout(ctx, budget)", New: "ctx, cancel := p.Clock.WithTimeout(ctx, 4*budget)\n\tbudget *= 4",
		},
	},
	{
		Bug: "containers of a Pod that is gone are forgotten only", Property: "nothing-is-left",
		Scenario: "08-without-nri.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "containersLeft", File: core + "node/reconciler.go",
			Old: "for _, id := range r.containersOf(t) {\n\t\t\tif err := r.end(", New: "for _, id := range r.containersOf(t)[:0] {\n\t\t\tif err := r.end(",
		},
	},
	{
		Bug: "any placeholder is kept", Property: "shadows-fit",
		Scenario: "17-rotated-while-nobody-uses-it.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "keepAny", File: core + "shadow/plan.go",
			Old: "placeholder.Fits(held, original.Data[name]) == placeholder.FitsAll &&", New: "placeholder.Is(held) &&",
		},
	},
	{
		Bug: "containers are bound to what they do not refer to", Property: "values-arrive",
		Scenario: "15-a-storm.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "boundToNothing", File: core + "node/uses.go", Old: "ok && ref.Kubelet {", New: "ok && !ref.Kubelet {"},
	},
}
