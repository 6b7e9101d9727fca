package gossipkeys_test

import "github.com/seedbed-sim/seedbed/scenarios/internal/mutant"

// planted is a bug, what catches it, and where it shows.
type planted struct {
	mutant.Mutant
	bug      string // what somebody got wrong
	property string // the one that catches it
	scenario string // the file that shows it
	seeds    int    // in which it must be caught
}

const (
	core    = "core/gossipkeys/"
	model   = "fakes/gossip/"
	binding = "scenarios/gossipkeys/"
)

// plantedBugs lists at least one bug for each property, in the order of the
// properties.
var plantedBugs = []planted{
	{
		bug: "a line that cannot be read is skipped", property: "lists-are-read-whole",
		scenario: "30-one-line-spoilt.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "skipBadLine", File: core + "format.go",
			Old: "return nil, fmt.Errorf(\"key at index %d is not valid base64\", len(keys))",
			New: "continue",
		},
	},
	{
		bug: "the watcher delivers the primary only", property: "lists-are-read-whole",
		scenario: "20-key-listed-twice.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "deliverFirst", File: core + "watcher.go",
			Old: "w.onKeys(append(Keys(nil), keys...))",
			New: "w.onKeys(append(Keys(nil), keys[:1]...))",
		},
	},
	{
		bug: "keys are encoded without padding", property: "written-keys-read-back",
		scenario: "01-fresh-cluster.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "unpadded", File: core + "format.go",
			Old: "lines[i] = base64.StdEncoding.AppendEncode(nil, k.Bytes())",
			New: "lines[i] = base64.RawStdEncoding.AppendEncode(nil, k.Bytes())",
		},
	},
	{
		bug: "the restoring update is not bound to what was read", property: "existing-keys-stay",
		scenario: "09-operator-writes-in-between.yaml", seeds: 30,
		Mutant: mutant.Mutant{
			Name: "forceFill", File: core + "provisioner.go",
			Old: "secret := read.DeepCopy()",
			New: "secret := read.DeepCopy()\n\tsecret.ResourceVersion = \"\"",
		},
	},
	{
		bug: "white space counts as no key", property: "existing-keys-stay",
		scenario: "07-white-space-is-not-empty.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "fillBlank", File: core + "provisioner.go",
			Old: "keys, err := ParseKeys(secret.Data[p.dataKey])\n\tif err != nil {",
			New: "keys, err := ParseKeys(secret.Data[p.dataKey])\n\tif errors.Is(err, ErrNoKey) {\n\t\treturn p.fill(ctx, secret)\n\t}\n\tif err != nil {",
		},
	},
	{
		bug: "one key is not enough to be remembered", property: "lost-keys-come-back",
		scenario: "03-two-controllers-start.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "moreThanOne", File: core + "provisioner.go",
			Old: "if len(known) > 0 {",
			New: "if len(known) > 1 {",
		},
	},
	{
		bug: "garbage makes the provisioner forget", property: "lost-keys-come-back",
		scenario: "06-garbage-then-deleted.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "forgetOnGarbage", File: core + "provisioner.go",
			Old: "keys, err := ParseKeys(secret.Data[p.dataKey])\n",
			New: "keys, err := ParseKeys(secret.Data[p.dataKey])\n\tp.remember(keys)\n",
		},
	},
	{
		bug: "a key counts as known before it is stored", property: "only-stored-keys-are-known",
		scenario: "04-loser-forgets-its-key.yaml", seeds: 30,
		Mutant: mutant.Mutant{
			Name: "rememberEarly", File: core + "provisioner.go",
			Old: "err = p.live.Create(ctx, secret)",
			New: "p.remember(keys)\n\terr = p.live.Create(ctx, secret)",
		},
	},
	{
		bug: "a creation that fails is tried again on the spot", property: "one-write-per-reconcile",
		scenario: "12-create-answer-lost.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "retryAtOnce", File: core + "provisioner.go",
			Old: "err = p.live.Create(ctx, secret)",
			New: "if err = p.live.Create(ctx, secret); err != nil {\n\t\tsecret.ResourceVersion = \"\"\n\t\terr = p.live.Create(ctx, secret)\n\t}",
		},
	},
	{
		bug: "keys that are in order are written all the same", property: "one-write-per-reconcile",
		scenario: "02-key-chosen-by-user.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "alwaysFill", File: core + "provisioner.go",
			Old: "p.remember(keys)\n\treturn nil",
			New: "p.remember(keys)\n\treturn p.fill(ctx, secret)",
		},
	},
	{
		bug: "garbage is looked at again and again", property: "invalid-data-waits-for-repair",
		scenario: "05-garbage-and-repair.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "retryGarbage", File: core + "provisioner.go",
			Old: "err = reconcile.TerminalError(err)",
			New: "err = fmt.Errorf(\"reconcile: %w\", err)",
		},
	},
	{
		bug: "a creation that fails is forgotten", property: "secret-comes-back",
		scenario: "32-creations-refused.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "swallowError", File: core + "provisioner.go",
			Old: "return fmt.Errorf(\"failed to create Secret %s: %w\", p.secret, err)",
			New: "p.log.Error(err, \"failed to create Secret\")\n\t\treturn nil",
		},
	},
	{
		bug: "the pauses between attempts grow to five minutes", property: "secret-comes-back",
		scenario: "32-creations-refused.yaml", seeds: 20,
		Mutant: mutant.Mutant{
			Name: "slowRetry", File: core + "provisioner.go",
			Old: "Max: ProvisionRetryMax}",
			New: "Max: ApplyRetryMax}",
		},
	},
	{
		bug: "the watcher forgets what it has delivered", property: "deliveries-are-changes",
		scenario: "20-key-listed-twice.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "deliverAgain", File: core + "watcher.go",
			Old: "w.delivered = keys\n",
			New: "",
		},
	},
	{
		bug: "only a new primary counts as a change", property: "deliveries-are-current",
		scenario: "19-node-returns-to-a-stale-view.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "samePrimary", File: core + "watcher.go",
			Old: "if keys.Equal(w.delivered) {",
			New: "if len(w.delivered) > 0 && keys[0].Equal(w.delivered[0]) {",
		},
	},
	{
		bug: "an agent is a member of its own cluster before it has keys", property: "no-keys-no-membership",
		scenario: "14-watch-without-selector.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "memberOfMyself", File: core + "agent.go",
			Old: "return nil\n\t}\n\tvar names []string",
			New: "return []string{a.Node}\n\t}\n\tvar names []string",
		},
	},
	{
		bug: "an agent that leaves is not ready any more", property: "no-keys-no-membership",
		scenario: "22-shut-down-during-delivery.yaml", seeds: 20,
		Mutant: mutant.Mutant{
			Name: "unready", File: core + "agent.go",
			Old: "return a.ready\n",
			New: "return a.ready && a.life == running\n",
		},
	},
	{
		bug: "keys are removed from the middle of the ring", property: "ring-keeps-its-primary",
		scenario: "21-rapid-edits.yaml", seeds: 20,
		Mutant: mutant.Mutant{
			Name: "removeMiddle", File: core + "ring.go",
			Old: "last := keys[len(keys)-1]",
			New: "last := keys[slices.IndexFunc(keys, unwanted)]",
		},
	},
	{
		bug: "packets are opened with the primary only", property: "nobody-dies-of-deafness",
		scenario: "16-safe-rotation.yaml", seeds: 20,
		Mutant: mutant.Mutant{
			Name: "primaryOnly", File: model + "sealing.go",
			Old: "for _, k := range n.cfg.Keyring.GetKeys() {",
			New: "for _, k := range n.cfg.Keyring.GetKeys()[:1] {",
		},
	},
	{
		bug: "the gate passes once any node is current", property: "all-nodes-understand-each-other",
		scenario: "16-safe-rotation.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "gateOnAny", File: core + "gate.go",
			Old: "return g.count(NodeCurrent) > 0 && len(g.waiting()) == 0",
			New: "return g.count(NodeCurrent) > 0",
		},
	},
	{
		bug: "a starting node believes its cache", property: "starts-on-current-keys",
		scenario: "33-node-lists-from-a-stale-cache.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "cachedStart", File: core + "watcher.go",
			Old: "if w.live != nil && !w.started {",
			New: "if w.live != nil && w.started {",
		},
	},
	{
		bug: "an old key is dropped as soon as the last node reports", property: "drops-wait-for-streams",
		scenario: "16-safe-rotation.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "dropAtOnce", File: core + "rotator.go",
			Old: "r.clock.Sleep(ctx, r.settle)",
			New: "r.clock.Sleep(ctx, 0)",
		},
	},
	{
		bug: "a report of an earlier list will do", property: "all-nodes-understand-each-other",
		scenario: "16-safe-rotation.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "anyReport", File: core + "gate.go",
			Old: "case reported && report.Same(want):",
			New: "case reported && report.UID == want.UID:",
		},
	},
	{
		bug: "a step that removes no key does not wait", property: "all-nodes-understand-each-other",
		scenario: "16-safe-rotation.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "flipAtOnce", File: core + "advance.go",
			Old: "if to.Step != s.rotation.From {",
			New: "if removes(s.keys, list) {",
		},
	},
	{
		bug: "the new key is added on top", property: "written-lists-are-adjacent",
		scenario: "16-safe-rotation.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "addOnTop", File: core + "rotation.go",
			Old: "return append(slices.Clone(old), fresh)",
			New: "return append(Keys{fresh}, old...)",
		},
	},
	{
		bug: "a rotation flips and drops in one write", property: "written-lists-are-adjacent",
		scenario: "16-safe-rotation.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "flipAndDrop", File: core + "rotation.go",
			Old: "return StepKeys(s.keys[:last], s.keys[last], StepFlipped)",
			New: "return Keys{s.keys[last]}",
		},
	},
	{
		bug: "peers are joined when keys change and never again", property: "membership-returns",
		scenario: "31-long-partition.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "neverRejoin", File: core + "agent_work.go",
			Old: "for a.await(ctx, a.joinDue, RejoinInterval) {",
			New: "for a.await(ctx, a.joinDue, 0) {",
		},
	},
	{
		bug: "the instance is shut down before the worker has stopped", property: "shutdown-is-final",
		scenario: "22-shut-down-during-delivery.yaml", seeds: 50,
		Mutant: mutant.Mutant{
			Name: "stopEarly", File: core + "agent.go",
			Old: "group.Wait()\n\treturn a.stop()",
			New: "group.Go(\"gossip-stop\", func(ctx context.Context) {\n\t\t_ = a.Clock.NewSignal().Wait(ctx)\n\t\t_ = a.stop()\n\t})\n\tgroup.Wait()\n\treturn nil",
		},
	},
	{
		bug: "an agent claims addresses while it leaves", property: "shutdown-is-final",
		scenario: "22-shut-down-during-delivery.yaml", seeds: 50,
		Mutant: mutant.Mutant{
			Name: "claimWhileLeaving", File: core + "agent.go",
			Old: "if a.life != running {",
			New: "if a.life == over {",
		},
	},
	{
		bug: "the log shows the keys themselves", property: "keys-stay-secret",
		scenario: "01-fresh-cluster.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "logKeys", File: core + "agent_work.go",
			Old: "a.Log.Info(\"Applied gossip keys\", \"keys\", want.Fingerprints())",
			New: "a.Log.Info(\"Applied gossip keys\", \"keys\", want.Bytes())",
		},
	},
	{
		bug: "the log shows a key that was just made", property: "keys-stay-secret",
		scenario: "01-fresh-cluster.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "logNewKey", File: core + "provisioner.go",
			Old: "p.log.Info(\"Created Secret with a new key\", \"secret\", p.secret, \"keys\", keys.Fingerprints())",
			New: "p.log.Info(\"Created Secret with a new key\", \"secret\", p.secret, \"keys\", string(FormatKeys(keys)))",
		},
	},
	{
		bug: "the complaint about a bad line quotes it", property: "keys-stay-secret",
		scenario: "30-one-line-spoilt.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "quoteLine", File: core + "format.go",
			Old: "return nil, fmt.Errorf(\"key at index %d is not valid base64\", len(keys))",
			New: "return nil, fmt.Errorf(\"key at index %d is not valid base64: %q\", len(keys), line)",
		},
	},
	{
		bug: "the report on the Node holds the keys themselves", property: "keys-stay-secret",
		scenario: "02-key-chosen-by-user.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "reportKeys", File: core + "agent_work.go",
			Old: "return Report{Version: a.version, Keys: a.ring.Fingerprints(), Time: a.ringTime}, true",
			New: "return Report{Version: a.version, Keys: []string{string(FormatKeys(a.ring))}, Time: a.ringTime}, true",
		},
	},
	{
		bug: "a dead host is reported as an error of the sender's own", property: "story-completes",
		scenario: "27-dead-node-is-noticed.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "plainError", File: binding + "environment.go",
			Old: "from, to := e.host(env.From), e.host(env.To)\n",
			New: "from, to := e.host(env.From), e.host(env.To)\n\tif e.cluster.At(env.To) == nil {\n\t\treturn fmt.Errorf(\"send to %s: no such peer\", e.cluster.AddrName(env.To))\n\t}\n",
		},
	},
}
