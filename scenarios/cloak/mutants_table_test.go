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
		Bug: "what the handshake names does not matter", Property: "values-go-where-they-may",
		Scenario: "06-one-content-network.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "anyServerName", File: model + "sockets.go", Old: "if strings.EqualFold(d.ServerName, row.Host) {", New: "if strings.EqualFold(row.Host, row.Host) {"},
	},
	{
		Bug: "a shadow holds the values", Property: "values-stay-hidden",
		Scenario: "01-a-value-arrives.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "valuesInShadow", File: core + "shadow/plan.go", Old: "planned.Data[name] = []byte(fresh)", New: "planned.Data[name] = append([]byte(fresh), value...)"},
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
		Bug: "an agent does not ask for a host that nobody asks for", Property: "story-completes",
		Scenario: "60-nobody-asks-any-more.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "neverAsks", File: core + "refresh/refresher.go", Old: "if err := r.Refresh(ctx); err != nil {", New: "if err := error(nil); err != nil {"},
	},
	{
		Bug: "an answer to no question counts", Property: "answers-are-asked-for",
		Scenario: "28-forged-answers.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "unasked", File: model + "dns.go", Old: "!asked || k.now() > until || ", New: "asked && k.now() > until || "},
	},
	{
		Bug: "an entry that is to go stays", Property: "maps-permit-no-more",
		Scenario: "11-the-agent-dies.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "entryStays", File: core + "secretsync/syncer.go", Old: "if w == nil || w.Owner != e.Owner", New: "if w == nil {\n\t\t\tcontinue\n\t\t}\n\t\tif w.Owner != e.Owner"},
	},
	{
		Bug: "a rule that cannot be read is loaded", Property: "maps-permit-no-more",
		Scenario: "47-a-rule-that-cannot-be-read.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "unreadableRule", File: core + "secretsync/desired.go", Old: "if defects := report.Defects(); len(defects) > 0 {", New: "if defects := report.Defects(); len(defects) > 9 {"},
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
		Bug: "the webhook leaves references as they are", Property: "webhook-refuses",
		Scenario: "01-a-value-arrives.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "notSwapped", File: core + "webhook/pods.go", Old: "*ref.Name = into", New: "_ = into"},
	},
	{
		Bug: "a Secret that cannot be read is not protected", Property: "webhook-refuses",
		Scenario: "48-there-is-no-shadow.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "unreadIsFine", File: core + "webhook/pods.go",
			Old: "return \"\", later(\"Secret %s could not be read: %v\", name.Name, err)", New: "return name.Name, nil",
		},
	},
	{
		Bug: "the last of two that have a placeholder gets it", Property: "doubtful-placeholders-rest",
		Scenario: "07-one-placeholder-for-two.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "lastWins", File: core + "secretsync/desired.go", Old: "if len(owners) == 1 {", New: "if len(owners) >= 1 {"},
	},
	{
		Bug: "a Secret in the place of a shadow is overwritten", Property: "others-keep-theirs",
		Scenario: "13-somebody-elses-shadow.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "foreignOverwritten", File: core + "shadow/reconciler.go",
			Old: "case current != nil && !Owned(current, original):", New: "case current != nil && !Owned(current, original) && Managed(current):",
		},
	},
	{
		Bug: "programs are added and not replaced", Property: "one-program-each",
		Scenario: "30-upgraded.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "programAdded", File: model + "pods.go", Old: "k.attached[n] = []Layout{k.layout}", New: "k.attached[n] = append(k.attached[n], k.layout)"},
	},
	{
		Bug: "who connects to the real address of a host is taken for verified", Property: "sockets-speak-for-themselves",
		Scenario: "10-a-rogue-resolver.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "byRealAddress", File: model + "sockets.go", Old: "for _, row := range k.vips {\n\t\tif row.Host",
			New: "for _, row := range k.vips {\n\t\tfor _, r := range k.real[row.ID()] {\n\t\t\tif r.addr == d.Destination.Addr() {\n\t\t\t\ts.host = row.ID()\n\t\t\t}\n\t\t}\n\t\tif row.Host",
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
			Old: "placeholder.Suits(held, original.Data[name]) &&", New: "placeholder.Is(held) &&",
		},
	},
	{
		Bug: "containers are bound to what they do not refer to", Property: "values-arrive",
		Scenario: "15-a-storm.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "boundToNothing", File: core + "node/uses.go", Old: "ok && ref.Kubelet {", New: "ok && !ref.Kubelet {"},
	},
	{
		Bug: "a plugin that is hung up on does not come back", Property: "plugins-come-back",
		Scenario: "14-the-runtime-hangs-up.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "hungUpForEver", File: core + "nri/plugin.go", Old: "absent = 0\n", New: "absent = 0\n\t\t\twait *= 10000\n"},
	},
	{
		Bug: "the endpoints of the DNS server do not count", Property: "resolvers-are-known",
		Scenario: "01-a-value-arrives.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "noEndpoints", File: core + "trusteddns/servers.go", Old: "unique(static, clusterIPs, endpoints)", New: "unique(static, clusterIPs, endpoints[:0])"},
	},
	{
		Bug: "what is retained is retained for ever", Property: "addresses-are-released",
		Scenario: "54-addresses-are-released.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "retainedForEver", File: core + "virtualip/table.go", Old: "now-r.since >= t.cfg.Retention &&", New: "now-r.since >= 100*t.cfg.Retention &&"},
	},
	{
		Bug: "of two with one placeholder nobody gets another", Property: "duplicates-end",
		Scenario: "58-one-placeholder-for-two-that-nobody-uses.yaml", Seeds: 3,
		Mutant: mutant.Mutant{Name: "bothKeep", File: core + "shadow/plan.go", Old: "if other.older(me) {", New: "if other.older(me) && false {"},
	},
}
