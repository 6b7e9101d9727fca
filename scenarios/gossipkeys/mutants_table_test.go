package gossipkeys_test

import (
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/mutant"
	"github.com/seedbed-sim/seedbed/scenarios/internal/planted"
)

const (
	core    = "core/gossipkeys/"
	model   = "fakes/gossip/"
	binding = "scenarios/gossipkeys/"
)

// plantedBugs lists at least one bug for each property, in the order of the
// properties.
var plantedBugs = []planted.Bug{
	{
		Bug: "a line that cannot be read is skipped", Property: "lists-are-read-whole",
		Scenario: "30-one-line-spoilt.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "skipBadLine", File: core + "format.go",
			Old: "return nil, fmt.Errorf(\"key at index %d is not valid base64\", len(keys))",
			New: "continue",
		},
	},
	{
		Bug: "the watcher delivers the primary only", Property: "lists-are-read-whole",
		Scenario: "20-key-listed-twice.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "deliverFirst", File: core + "watcher.go",
			Old: "w.onKeys(append(Keys(nil), keys...))",
			New: "w.onKeys(append(Keys(nil), keys[:1]...))",
		},
	},
	{
		Bug: "keys are encoded without padding", Property: "written-keys-read-back",
		Scenario: "01-fresh-cluster.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "unpadded", File: core + "format.go",
			Old: "lines[i] = base64.StdEncoding.AppendEncode(nil, k.Bytes())",
			New: "lines[i] = base64.RawStdEncoding.AppendEncode(nil, k.Bytes())",
		},
	},
	{
		Bug: "the restoring update is not bound to what was read", Property: "existing-keys-stay",
		Scenario: "09-operator-writes-in-between.yaml", Seeds: 30,
		Mutant: mutant.Mutant{
			Name: "forceFill", File: core + "provisioner.go",
			Old: "secret := read.DeepCopy()",
			New: "secret := read.DeepCopy()\n\tsecret.ResourceVersion = \"\"",
		},
	},
	{
		Bug: "white space counts as no key", Property: "existing-keys-stay",
		Scenario: "07-white-space-is-not-empty.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "fillBlank", File: core + "provisioner.go",
			Old: "keys, err := ParseKeys(secret.Data[p.dataKey])\n\tif err != nil {",
			New: "keys, err := ParseKeys(secret.Data[p.dataKey])\n\tif errors.Is(err, ErrNoKey) {\n\t\treturn p.fill(ctx, secret)\n\t}\n\tif err != nil {",
		},
	},
	{
		Bug: "one key is not enough to be remembered", Property: "lost-keys-come-back",
		Scenario: "03-two-controllers-start.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "moreThanOne", File: core + "provisioner.go",
			Old: "if len(known) > 0 {",
			New: "if len(known) > 1 {",
		},
	},
	{
		Bug: "garbage makes the provisioner forget", Property: "lost-keys-come-back",
		Scenario: "06-garbage-then-deleted.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "forgetOnGarbage", File: core + "provisioner.go",
			Old: "keys, err := ParseKeys(secret.Data[p.dataKey])\n",
			New: "keys, err := ParseKeys(secret.Data[p.dataKey])\n\tp.remember(keys)\n",
		},
	},
	{
		Bug: "a key counts as known before it is stored", Property: "only-stored-keys-are-known",
		Scenario: "04-loser-forgets-its-key.yaml", Seeds: 30,
		Mutant: mutant.Mutant{
			Name: "rememberEarly", File: core + "provisioner.go",
			Old: "err = p.live.Create(ctx, secret)",
			New: "p.remember(keys)\n\terr = p.live.Create(ctx, secret)",
		},
	},
	{
		Bug: "a creation that fails is tried again on the spot", Property: "one-write-per-reconcile",
		Scenario: "12-create-answer-lost.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "retryAtOnce", File: core + "provisioner.go",
			Old: "err = p.live.Create(ctx, secret)",
			New: "if err = p.live.Create(ctx, secret); err != nil {\n\t\tsecret.ResourceVersion = \"\"\n\t\terr = p.live.Create(ctx, secret)\n\t}",
		},
	},
	{
		Bug: "keys that are in order are written all the same", Property: "one-write-per-reconcile",
		Scenario: "02-key-chosen-by-user.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "alwaysFill", File: core + "provisioner.go",
			Old: "p.remember(keys)\n\treturn nil",
			New: "p.remember(keys)\n\treturn p.fill(ctx, secret)",
		},
	},
	{
		Bug: "garbage is looked at again and again", Property: "invalid-data-waits-for-repair",
		Scenario: "05-garbage-and-repair.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "retryGarbage", File: core + "provisioner.go",
			Old: "err = reconcile.TerminalError(err)",
			New: "err = fmt.Errorf(\"reconcile: %w\", err)",
		},
	},
	{
		Bug: "a creation that fails is forgotten", Property: "secret-comes-back",
		Scenario: "32-creations-refused.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "swallowError", File: core + "provisioner.go",
			Old: "return fmt.Errorf(\"failed to create Secret %s: %w\", p.secret, err)",
			New: "p.log.Error(err, \"failed to create Secret\")\n\t\treturn nil",
		},
	},
	{
		Bug: "the pauses between attempts grow to five minutes", Property: "secret-comes-back",
		Scenario: "32-creations-refused.yaml", Seeds: 20,
		Mutant: mutant.Mutant{
			Name: "slowRetry", File: core + "provisioner.go",
			Old: "Max: ProvisionRetryMax}",
			New: "Max: ApplyRetryMax}",
		},
	},
	{
		Bug: "the watcher forgets what it has delivered", Property: "deliveries-are-changes",
		Scenario: "20-key-listed-twice.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "deliverAgain", File: core + "watcher.go",
			Old: "w.delivered = keys\n",
			New: "",
		},
	},
	{
		Bug: "only a new primary counts as a change", Property: "deliveries-are-current",
		Scenario: "19-node-returns-to-a-stale-view.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "samePrimary", File: core + "watcher.go",
			Old: "if keys.Equal(w.delivered) {",
			New: "if len(w.delivered) > 0 && keys[0].Equal(w.delivered[0]) {",
		},
	},
	{
		Bug: "an agent is a member of its own cluster before it has keys", Property: "no-keys-no-membership",
		Scenario: "14-watch-without-selector.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "memberOfMyself", File: core + "agent.go",
			Old: "return nil\n\t}\n\tvar names []string",
			New: "return []string{a.Node}\n\t}\n\tvar names []string",
		},
	},
	{
		Bug: "an agent that leaves is not ready any more", Property: "no-keys-no-membership",
		Scenario: "22-shut-down-during-delivery.yaml", Seeds: 20,
		Mutant: mutant.Mutant{
			Name: "unready", File: core + "agent.go",
			Old: "return a.ready\n",
			New: "return a.ready && a.life == running\n",
		},
	},
	{
		Bug: "keys are removed from the middle of the ring", Property: "ring-keeps-its-primary",
		Scenario: "21-rapid-edits.yaml", Seeds: 20,
		Mutant: mutant.Mutant{
			Name: "removeMiddle", File: core + "ring.go",
			Old: "last := keys[len(keys)-1]",
			New: "last := keys[slices.IndexFunc(keys, unwanted)]",
		},
	},
	{
		Bug: "packets are opened with the primary only", Property: "nobody-dies-of-deafness",
		Scenario: "16-safe-rotation.yaml", Seeds: 20,
		Mutant: mutant.Mutant{
			Name: "primaryOnly", File: model + "sealing.go",
			Old: "for _, k := range n.cfg.Keyring.GetKeys() {",
			New: "for _, k := range n.cfg.Keyring.GetKeys()[:1] {",
		},
	},
	{
		Bug: "the gate passes once any node is current", Property: "all-nodes-understand-each-other",
		Scenario: "16-safe-rotation.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "gateOnAny", File: core + "gate.go",
			Old: "return g.count(NodeCurrent) > 0 && len(g.waiting()) == 0",
			New: "return g.count(NodeCurrent) > 0",
		},
	},
	{
		Bug: "a starting node believes its cache", Property: "starts-on-current-keys",
		Scenario: "33-node-lists-from-a-stale-cache.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "cachedStart", File: core + "watcher.go",
			Old: "if w.live != nil && !w.started {",
			New: "if w.live != nil && w.started {",
		},
	},
	{
		Bug: "an old key is dropped as soon as the last node reports", Property: "drops-wait-for-streams",
		Scenario: "16-safe-rotation.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "dropAtOnce", File: core + "rotator.go",
			Old: "r.clock.Sleep(ctx, r.settle)",
			New: "r.clock.Sleep(ctx, 0)",
		},
	},
	{
		Bug: "a report of an earlier list will do", Property: "all-nodes-understand-each-other",
		Scenario: "16-safe-rotation.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "anyReport", File: core + "gate.go",
			Old: "case reported && report.Same(want):",
			New: "case reported && report.UID == want.UID:",
		},
	},
	{
		Bug: "a step that removes no key does not wait", Property: "all-nodes-understand-each-other",
		Scenario: "16-safe-rotation.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "flipAtOnce", File: core + "advance.go",
			Old: "if to.Step != s.rotation.From {",
			New: "if removes(s.keys, list) {",
		},
	},
	{
		Bug: "the new key is added on top", Property: "written-lists-are-adjacent",
		Scenario: "16-safe-rotation.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "addOnTop", File: core + "rotation.go",
			Old: "return append(slices.Clone(old), fresh)",
			New: "return append(Keys{fresh}, old...)",
		},
	},
	{
		Bug: "a rotation flips and drops in one write", Property: "written-lists-are-adjacent",
		Scenario: "16-safe-rotation.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "flipAndDrop", File: core + "rotation.go",
			Old: "return StepKeys(s.keys[:last], s.keys[last], StepFlipped)",
			New: "return Keys{s.keys[last]}",
		},
	},
	{
		Bug: "peers are joined when keys change and never again", Property: "membership-returns",
		Scenario: "31-long-partition.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "neverRejoin", File: core + "agent_work.go",
			Old: "for a.await(ctx, a.joinDue, RejoinInterval) {",
			New: "for a.await(ctx, a.joinDue, 0) {",
		},
	},
	{
		Bug: "the instance is shut down before the worker has stopped", Property: "shutdown-is-final",
		Scenario: "22-shut-down-during-delivery.yaml", Seeds: 50,
		Mutant: mutant.Mutant{
			Name: "stopEarly", File: core + "agent.go",
			Old: "group.Wait()\n\treturn a.stop()",
			New: "group.Go(\"gossip-stop\", func(ctx context.Context) {\n\t\t_ = a.Clock.NewSignal().Wait(ctx)\n\t\t_ = a.stop()\n\t})\n\tgroup.Wait()\n\treturn nil",
		},
	},
	{
		Bug: "an agent claims addresses while it leaves", Property: "shutdown-is-final",
		Scenario: "22-shut-down-during-delivery.yaml", Seeds: 50,
		Mutant: mutant.Mutant{
			Name: "claimWhileLeaving", File: core + "agent.go",
			Old: "if a.life != running {",
			New: "if a.life == over {",
		},
	},
	{
		Bug: "the log shows the keys themselves", Property: "keys-stay-secret",
		Scenario: "01-fresh-cluster.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "logKeys", File: core + "agent_work.go",
			Old: "a.Log.Info(\"Applied gossip keys\", \"keys\", want.Fingerprints())",
			New: "a.Log.Info(\"Applied gossip keys\", \"keys\", want.Bytes())",
		},
	},
	{
		Bug: "the log shows a key that was just made", Property: "keys-stay-secret",
		Scenario: "01-fresh-cluster.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "logNewKey", File: core + "provisioner.go",
			Old: "p.log.Info(\"Created Secret with a new key\", \"secret\", p.secret, \"keys\", keys.Fingerprints())",
			New: "p.log.Info(\"Created Secret with a new key\", \"secret\", p.secret, \"keys\", string(FormatKeys(keys)))",
		},
	},
	{
		Bug: "the complaint about a bad line quotes it", Property: "keys-stay-secret",
		Scenario: "30-one-line-spoilt.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "quoteLine", File: core + "format.go",
			Old: "return nil, fmt.Errorf(\"key at index %d is not valid base64\", len(keys))",
			New: "return nil, fmt.Errorf(\"key at index %d is not valid base64: %q\", len(keys), line)",
		},
	},
	{
		Bug: "the report on the Node holds the keys themselves", Property: "keys-stay-secret",
		Scenario: "02-key-chosen-by-user.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "reportKeys", File: core + "agent_work.go",
			Old: "return Report{Version: a.version, Keys: a.ring.Fingerprints(), Time: a.ringTime}, true",
			New: "return Report{Version: a.version, Keys: []string{string(FormatKeys(a.ring))}, Time: a.ringTime}, true",
		},
	},
	{
		Bug: "a dead host is reported as an error of the sender's own", Property: "story-completes",
		Scenario: "27-dead-node-is-noticed.yaml", Seeds: 5,
		Mutant: mutant.Mutant{
			Name: "plainError", File: binding + "environment.go",
			Old: "from, to := e.host(env.From), e.host(env.To)\n",
			New: "from, to := e.host(env.From), e.host(env.To)\n\tif e.cluster.At(env.To) == nil {\n\t\treturn fmt.Errorf(\"send to %s: no such peer\", e.cluster.AddrName(env.To))\n\t}\n",
		},
	},
	{
		Bug: "peers are joined one after the other, up to one that does not answer", Property: scenarios.CoreConverges,
		Scenario: "29-provisioning-in-a-storm.yaml", Seeds: 60,
		Mutant: mutant.Mutant{
			Name: "joinOneByOne", File: core + "agent_work.go",
			Old: "joined, err := instance.Join(ctx, missing)",
			New: `joined := 0
	for _, p := range missing {
		if _, err = instance.Join(ctx, []Peer{p}); err != nil {
			break
		}
		joined++
	}`,
		},
	},
	{
		Bug: "an agent that has missed a peer joins nobody before all are back", Property: scenarios.CoreConverges,
		Scenario: "29-provisioning-in-a-storm.yaml", Seeds: 20,
		Mutant: mutant.Mutant{
			Name: "joinAllOrNobody", File: core + "agent_work.go",
			Old: "peers, err := a.Peers.Peers(ctx)\n\tif err != nil {",
			New: `peers, err := a.Peers.Peers(ctx)
	for _, p := range peers {
		if _, dead := instance.Join(ctx, []Peer{p}); dead != nil && p.Name != a.Node {
			return
		}
	}
	if err != nil {`,
		},
	},
}
