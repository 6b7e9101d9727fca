package home_test

import (
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/mutant"
	"github.com/seedbed-sim/seedbed/scenarios/internal/planted"
)

const (
	core  = "core/home/"
	ports = "sim/cluster/"
)

// plantedBugs lists at least one bug for each property, in the order of the
// properties.
var plantedBugs = []planted.Bug{
	{
		Bug: "New reads the Pod", Property: "new-asks-nothing",
		Scenario: "grants/01-normal-start.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "readInNew", File: core + "home.go",
			Old: "return h.firstFetch(ctx)",
			New: "h.readPod(ctx, false)\n\treturn h.firstFetch(ctx)",
		},
	},
	{
		Bug: "the last attempt of New takes as long as any", Property: "new-ends-in-time",
		Scenario: "grants/23a-slow-refusals.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "uncut", File: core + "fetch.go",
			Old: "err := h.fetch(ctx, min(attemptMax, left))",
			New: "err := h.fetch(ctx, attemptMax)",
		},
	},
	{
		Bug: "any grant that is in the directory will do", Property: "new-means-a-grant",
		Scenario: "grants/20-leftover-of-no-use.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "anyLeftover", File: core + "grantfile.go",
			Old: "if token, p, err := h.accept(bytes.TrimSpace(content)); err == nil {\n\t\t\treturn token, p, nil",
			New: "if p, err := grant.Peek(content); err == nil {\n\t\t\treturn secret.New(content), p, nil",
		},
	},
	{
		Bug: "the old grant is removed before the new one gets its name", Property: "grant-file-is-whole",
		Scenario: "grants/01-normal-start.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "unlink", File: core + "grantfile.go",
			Old: "err = files.Rename(ctx, temp, name)",
			New: "_ = files.Remove(ctx, name)\n\t\terr = files.Rename(ctx, temp, name)",
		},
	},
	{
		Bug: "the grant is not synced before it gets its name", Property: "grant-file-is-whole",
		Scenario: "grants/26a-power-loss.yaml", Seeds: 10,
		Mutant: mutant.Mutant{
			Name: "unsynced", File: core + "grantfile.go",
			Old: "err = files.Sync(ctx, temp)",
			New: "err = nil",
		},
	},
	{
		Bug: "a file that goes is a grant that goes", Property: "removed-means-gone",
		Scenario: "grants/29a-two-files-one-grant.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "unvouched", File: core + "lane.go",
			Old: "vouched[f.uid] = true",
			New: "vouched[f.uid] = false",
		},
	},
	{
		Bug: "what was told is told again", Property: "each-content-once",
		Scenario: "grants/01-normal-start.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "forgetful", File: core + "lane.go",
			Old: "ok && before.hash == now.hash",
			New: "ok && before.hash != now.hash",
		},
	},
	{
		Bug: "an error is an answer, too", Property: "health-needs-an-answer",
		Scenario: "health/04-five-minutes-down.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "markErrors", File: core + "round.go",
			Old: "case err != nil:\n\t\treturn nil, err\n\tcase string",
			New: "case err != nil:\n\t\th.health.MarkSync(h.clock.Monotonic())\n\t\treturn nil, err\n\tcase string",
		},
	},
	{
		Bug: "the health is told on the wall clock", Property: "health-needs-an-answer",
		Scenario: "health/07-clock-back-in-an-outage.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "wallClock", File: ports + "clock.go",
			Old: "return c.p.Monotonic()",
			New: "return time.Duration(c.p.Now().UnixNano())",
		},
	},
	{
		Bug: "only a ready Pod counts as an answer", Property: "answers-mean-health",
		Scenario: "readiness/33-patch-fails.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "markReady", File: core + "round.go",
			Old: "if mark && !h.paused {",
			New: "if mark && !h.paused && isConditionTrue(pod) {",
		},
	},
	{
		Bug: "only the last reason is remembered", Property: "losses-come-once",
		Scenario: "scope/12-claim-in-use-is-deleted.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "lastReason", File: core + "loss.go",
			Old: "fresh := !l.known[reason]",
			New: "fresh := len(l.queue) == 0 || l.queue[len(l.queue)-1] != reason",
		},
	},
	{
		Bug: "a path that is not known is a Pod that is gone", Property: "losses-have-evidence",
		Scenario: "scope/09a-unknown-path.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "anyNotFound", File: core + "round.go",
			Old: "return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)",
			New: "return apierrors.IsNotFound(err)",
		},
	},
	{
		Bug: "a claim is blamed without another look at the Pod", Property: "losses-have-evidence",
		Scenario: "scope/13-pod-and-its-claim-go.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "blameClaim", File: core + "round.go",
			Old: "pod := h.readPod(ctx, false)\n\tswitch {",
			New: "pod := h.storedPod()\n\tswitch {",
		},
	},
	{
		Bug: "what is served is never asked again", Property: scenarios.StoryCompletes,
		Scenario: "scope/15-upgrade-drops-a-version.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "discoverOnce", File: core + "claims/reader.go",
			Old: "return r.version, !limited || !deadline.Equal(r.asked)",
			New: "return r.version, r.version == \"\" && (!limited || !deadline.Equal(r.asked))",
		},
	},
	{
		Bug: "one observation is enough", Property: "losses-have-evidence",
		Scenario: "scope/14-claims-unserved-briefly.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "unservedOnce", File: core + "round.go",
			Old: "lost := now-h.unserved >= h.cfg.StaleTTL",
			New: "lost := now-h.unserved >= 0",
		},
	},
	{
		Bug: "a loss is handled by who found it", Property: "rounds-never-wait",
		Scenario: "scope/35-slow-handler.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "handleInline", File: core + "loss.go",
			Old: "l.due.Send()",
			New: "l.queue = nil\n\t\tl.handler(context.Background(), reason)",
		},
	},
	{
		Bug: "each round sets the condition", Property: "readiness-converges",
		Scenario: "health/02-short-outage.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "patchAlways", File: core + "readiness.go",
			Old: "case published == known(ready):\n\t\treturn nil",
			New: "case published == known(ready) && seen.pod == nil:\n\t\treturn nil",
		},
	},
	{
		Bug: "rounds do not look at the condition", Property: "readiness-converges",
		Scenario: "readiness/33a-patch-fails-in-the-end.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "noRepair", File: core + "readiness.go",
			Old: "if err := h.publish(ctx, seen); err != nil && ctx.Err() == nil {",
			New: "if err := ctx.Err(); err != nil && seen.pod == nil {",
		},
	},
	{
		Bug: "a Pod that is read during a patch shows it", Property: "readiness-converges",
		Scenario: "readiness/33b-slow-patch.yaml", Seeds: 20,
		Mutant: mutant.Mutant{
			Name: "countOnce", File: core + "readiness.go",
			Old: "r.attempt()\n\tif err != nil {",
			New: "if err != nil {",
		},
	},
	{
		Bug: "the patch does not say whose it is", Property: "own-pod-only",
		Scenario: "scope/08a-late-patch.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "withoutUID", File: core + "readiness.go",
			Old: "\"metadata\": map[string]any{\"uid\": uid},",
			New: "\"metadata\": map[string]any{\"uid\": nil},",
		},
	},
	{
		Bug: "devices that cannot be read are an error", Property: "devices-and-address-answer",
		Scenario: "readiness/40-devices-in-an-outage.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "devicesFail", File: core + "devices.go",
			Old: "pod = h.readPod(ctx, false)",
			New: "var err error\n\t\tif pod, err = h.observePod(ctx, false); err != nil {\n\t\t\treturn DeviceChannel{}, func() {}, err\n\t\t}",
		},
	},
	{
		Bug: "any Pod of the name is stored", Property: "scope-is-own",
		Scenario: "scope/08-replaced-between-polls.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "storeAny", File: core + "round.go",
			Old: "h.lose(podLoss(h, \"replaced\"))",
			New: "h.lose(podLoss(h, \"replaced\"))\n\t\th.mu.Lock()\n\t\th.pod = pod\n\t\th.mu.Unlock()",
		},
	},
	{
		Bug: "Run does not wait for what it started", Property: "run-leaves-nothing",
		Scenario: "scope/35-slow-handler.yaml", Seeds: 10,
		Mutant: mutant.Mutant{
			Name: "noWait", File: core + "home.go",
			Old: "h.Close()\n\tg.Wait()",
			New: "h.Close()",
		},
	},
	{
		Bug: "an error shows the token that was sent", Property: "tokens-stay-secret",
		Scenario: "grants/19-leftover.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "showToken", File: core + "fetch.go",
			Old: "fmt.Errorf(\"ask the controller: %w\", err)",
			New: "fmt.Errorf(\"ask the controller with %s: %w\", bearer, err)",
		},
	},
	{
		Bug: "an answer counts that a round holds already", Property: "override-is-final",
		Scenario: "health/37a-override-in-a-round.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "markPaused", File: core + "round.go",
			Old: "if mark && !h.paused {",
			New: "if mark {",
		},
	},
	{
		Bug: "the less the lease has left, the sooner comes the retry", Property: "issuer-is-spared",
		Scenario: "grants/31-renewal-fails.yaml", Seeds: 3,
		Mutant: mutant.Mutant{
			Name: "hotLoop", File: core + "fetch.go",
			Old: "if h.clock.Sleep(ctx, max(pause, renewSoonest)) != nil {",
			New: "if h.clock.Sleep(ctx, pause) != nil {",
		},
	},
}
