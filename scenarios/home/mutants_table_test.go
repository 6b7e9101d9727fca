package home_test

import (
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/mutant"
)

// planted is a bug, what catches it, and where it shows.
type planted struct {
	mutant.Mutant
	bug      string // what somebody got wrong
	property string // the one that catches it
	scenario string // the file that shows it
	seeds    int    // in which it must be caught
}

const (
	core  = "core/home/"
	ports = "sim/cluster/"
)

// plantedBugs lists at least one bug for each property, in the order of the
// properties.
var plantedBugs = []planted{
	{
		bug: "New reads the Pod", property: "new-asks-nothing",
		scenario: "grants/01-normal-start.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "readInNew", File: core + "home.go",
			Old: "return h.firstFetch(ctx)",
			New: "h.readPod(ctx, false)\n\treturn h.firstFetch(ctx)",
		},
	},
	{
		bug: "the last attempt of New takes as long as any", property: "new-ends-in-time",
		scenario: "grants/23a-slow-refusals.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "uncut", File: core + "fetch.go",
			Old: "err := h.fetch(ctx, min(attemptMax, left))",
			New: "err := h.fetch(ctx, attemptMax)",
		},
	},
	{
		bug: "any grant that is in the directory will do", property: "new-means-a-grant",
		scenario: "grants/20-leftover-of-no-use.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "anyLeftover", File: core + "grantfile.go",
			Old: "if token, p, err := h.accept(bytes.TrimSpace(content)); err == nil {\n\t\t\treturn token, p, nil",
			New: "if p, err := grant.Peek(content); err == nil {\n\t\t\treturn secret.New(content), p, nil",
		},
	},
	{
		bug: "the old grant is removed before the new one gets its name", property: "grant-file-is-whole",
		scenario: "grants/01-normal-start.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "unlink", File: core + "grantfile.go",
			Old: "err = files.Rename(ctx, temp, name)",
			New: "_ = files.Remove(ctx, name)\n\t\terr = files.Rename(ctx, temp, name)",
		},
	},
	{
		bug: "the grant is not synced before it gets its name", property: "grant-file-is-whole",
		scenario: "grants/26a-power-loss.yaml", seeds: 10,
		Mutant: mutant.Mutant{
			Name: "unsynced", File: core + "grantfile.go",
			Old: "err = files.Sync(ctx, temp)",
			New: "err = nil",
		},
	},
	{
		bug: "a file that goes is a grant that goes", property: "removed-means-gone",
		scenario: "grants/29a-two-files-one-grant.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "unvouched", File: core + "lane.go",
			Old: "vouched[f.uid] = true",
			New: "vouched[f.uid] = false",
		},
	},
	{
		bug: "what was told is told again", property: "each-content-once",
		scenario: "grants/01-normal-start.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "forgetful", File: core + "lane.go",
			Old: "ok && before.hash == now.hash",
			New: "ok && before.hash != now.hash",
		},
	},
	{
		bug: "an error is an answer, too", property: "health-needs-an-answer",
		scenario: "health/04-five-minutes-down.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "markErrors", File: core + "round.go",
			Old: "case err != nil:\n\t\treturn nil, err\n\tcase string",
			New: "case err != nil:\n\t\th.health.MarkSync(h.clock.Monotonic())\n\t\treturn nil, err\n\tcase string",
		},
	},
	{
		bug: "the health is told on the wall clock", property: "health-needs-an-answer",
		scenario: "health/07-clock-back-in-an-outage.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "wallClock", File: ports + "clock.go",
			Old: "return c.p.Monotonic()",
			New: "return time.Duration(c.p.Now().UnixNano())",
		},
	},
	{
		bug: "only a ready Pod counts as an answer", property: "answers-mean-health",
		scenario: "readiness/33-patch-fails.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "markReady", File: core + "round.go",
			Old: "if mark && !h.paused {",
			New: "if mark && !h.paused && isConditionTrue(pod) {",
		},
	},
	{
		bug: "only the last reason is remembered", property: "losses-come-once",
		scenario: "scope/12-claim-in-use-is-deleted.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "lastReason", File: core + "loss.go",
			Old: "fresh := !l.known[reason]",
			New: "fresh := len(l.queue) == 0 || l.queue[len(l.queue)-1] != reason",
		},
	},
	{
		bug: "a path that is not known is a Pod that is gone", property: "losses-have-evidence",
		scenario: "scope/09a-unknown-path.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "anyNotFound", File: core + "round.go",
			Old: "return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)",
			New: "return apierrors.IsNotFound(err)",
		},
	},
	{
		bug: "a claim is blamed without another look at the Pod", property: "losses-have-evidence",
		scenario: "scope/13-pod-and-its-claim-go.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "blameClaim", File: core + "round.go",
			Old: "pod := h.readPod(ctx, false)\n\tswitch {",
			New: "pod := h.storedPod()\n\tswitch {",
		},
	},
	{
		bug: "what is served is never asked again", property: scenarios.StoryCompletes,
		scenario: "scope/15-upgrade-drops-a-version.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "discoverOnce", File: core + "claims/reader.go",
			Old: "return r.version, !limited || !deadline.Equal(r.asked)",
			New: "return r.version, r.version == \"\" && (!limited || !deadline.Equal(r.asked))",
		},
	},
	{
		bug: "one observation is enough", property: "losses-have-evidence",
		scenario: "scope/14-claims-unserved-briefly.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "unservedOnce", File: core + "round.go",
			Old: "lost := now-h.unserved >= h.cfg.StaleTTL",
			New: "lost := now-h.unserved >= 0",
		},
	},
	{
		bug: "a loss is handled by who found it", property: "rounds-never-wait",
		scenario: "scope/35-slow-handler.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "handleInline", File: core + "loss.go",
			Old: "l.due.Send()",
			New: "l.queue = nil\n\t\tl.handler(context.Background(), reason)",
		},
	},
	{
		bug: "each round sets the condition", property: "readiness-converges",
		scenario: "health/02-short-outage.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "patchAlways", File: core + "readiness.go",
			Old: "case published == known(ready):\n\t\treturn nil",
			New: "case published == known(ready) && seen.pod == nil:\n\t\treturn nil",
		},
	},
	{
		bug: "rounds do not look at the condition", property: "readiness-converges",
		scenario: "readiness/33a-patch-fails-in-the-end.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "noRepair", File: core + "readiness.go",
			Old: "if err := h.publish(ctx, seen); err != nil && ctx.Err() == nil {",
			New: "if err := ctx.Err(); err != nil && seen.pod == nil {",
		},
	},
	{
		bug: "a Pod that is read during a patch shows it", property: "readiness-converges",
		scenario: "readiness/33b-slow-patch.yaml", seeds: 20,
		Mutant: mutant.Mutant{
			Name: "countOnce", File: core + "readiness.go",
			Old: "r.attempt()\n\tif err != nil {",
			New: "if err != nil {",
		},
	},
	{
		bug: "the patch does not say whose it is", property: "own-pod-only",
		scenario: "scope/08a-late-patch.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "withoutUID", File: core + "readiness.go",
			Old: "\"metadata\": map[string]any{\"uid\": uid},",
			New: "\"metadata\": map[string]any{\"uid\": nil},",
		},
	},
	{
		bug: "devices that cannot be read are an error", property: "devices-and-address-answer",
		scenario: "readiness/40-devices-in-an-outage.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "devicesFail", File: core + "devices.go",
			Old: "pod = h.readPod(ctx, false)",
			New: "var err error\n\t\tif pod, err = h.observePod(ctx, false); err != nil {\n\t\t\treturn DeviceChannel{}, func() {}, err\n\t\t}",
		},
	},
	{
		bug: "any Pod of the name is stored", property: "scope-is-own",
		scenario: "scope/08-replaced-between-polls.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "storeAny", File: core + "round.go",
			Old: "h.lose(podLoss(h, \"replaced\"))",
			New: "h.lose(podLoss(h, \"replaced\"))\n\t\th.mu.Lock()\n\t\th.pod = pod\n\t\th.mu.Unlock()",
		},
	},
	{
		bug: "Run does not wait for what it started", property: "run-leaves-nothing",
		scenario: "scope/35-slow-handler.yaml", seeds: 10,
		Mutant: mutant.Mutant{
			Name: "noWait", File: core + "home.go",
			Old: "h.Close()\n\tg.Wait()",
			New: "h.Close()",
		},
	},
	{
		bug: "an error shows the token that was sent", property: "tokens-stay-secret",
		scenario: "grants/19-leftover.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "showToken", File: core + "fetch.go",
			Old: "fmt.Errorf(\"ask the controller: %w\", err)",
			New: "fmt.Errorf(\"ask the controller with %s: %w\", bearer, err)",
		},
	},
	{
		bug: "an answer counts that a round holds already", property: "override-is-final",
		scenario: "health/37a-override-in-a-round.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "markPaused", File: core + "round.go",
			Old: "if mark && !h.paused {",
			New: "if mark {",
		},
	},
	{
		bug: "the less the lease has left, the sooner comes the retry", property: "issuer-is-spared",
		scenario: "grants/31-renewal-fails.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "hotLoop", File: core + "fetch.go",
			Old: "if h.clock.Sleep(ctx, max(pause, renewSoonest)) != nil {",
			New: "if h.clock.Sleep(ctx, pause) != nil {",
		},
	},
}
