package encryption_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted is a bug: an expression of the code, and the one that stands there instead.
type planted struct {
	bug  string
	file string // below core/encryption
	old  string // the expression, which is there once
	with string
	test string // sees it
	kind string // the type of the expression; empty for bool
	pkg  string // whose test sees it, below core/encryption; empty for that of the file
}

// root is the package of this file.
const root = "."

var plantedBugs = []planted{
	// Removed resources.
	{bug: "a removed resource goes at once", file: "state/desired.go", old: "next.without(grs)", with: "next.without(next.Resources())", kind: "State", test: "TestNoStepIsUnsafe"},
	{bug: "a removed resource goes before it is decrypted", file: "state/leaving.go", old: "r.Plainly() && Decrypted(r.GroupResource, keys)", with: "r.Plainly()", test: "TestNoStepIsUnsafe"},
	{bug: "a removed resource is decrypted while keys still write", file: "state/leaving.go", old: "!s[i].Plainly()", with: "false", pkg: root, test: "TestARemovedResource"},
	{bug: "what a removed resource was migrated to is remembered", file: "state/leaving.go", old: "slices.Contains(grs, gr) == (len(current) == 0) || newerThanWriter(k, current.Find(gr))", with: "slices.Contains(grs, gr) && len(current) == 0", test: "TestNoStepIsUnsafe"},
	{bug: "that a resource was decrypted is remembered though keys write it again", file: "state/leaving.go", old: "r == nil || !r.Plainly()", with: "false", test: "TestNoStepIsUnsafe"},
	{bug: "without resources, nothing goes on", file: "look.go", old: "len(v.grs) == 0", with: "false", test: "TestNothingIsToBeEncrypted"},

	// Cycles.
	{bug: "what was migrated is remembered though the configuration was lost", file: "managed.go", old: "len(migrated) == 0 && len(decrypted) == 0", with: "true", test: "TestTheConfigurationIsLost"},
	{bug: "the newest key writes before all read it", file: "state/desired.go", old: "next.read(expected) || next.newestReadIsUnbacked()", with: "next.read(expected) && false", test: "TestNoStepIsUnsafe"},
	{bug: "old keys are dropped before all is migrated", file: "state/desired.go", old: "!write.Migrated.HasAll(next.Resources())", with: "false", test: "TestNoStepIsUnsafe"},
	{bug: "keys are dropped that are still needed", file: "state/desired.go", old: "older >= 0", with: "false", test: "TestRetained"},
	{bug: "ids are used again", file: "key.go", old: "uint64(out.highestKey) + 1", with: "v.highestID() + 1", kind: "uint64", test: "TestIDsAreNotUsedAgain"},
	{bug: "a key is made while the last is awaited", file: "key.go", old: "n.awaited(r)", with: "false", test: "TestNoKeyWhileTheLastIsAwaited"},
	{bug: "a leader of before writes over a later one", file: "managed.go", old: "before > epoch", with: "false", test: "TestAPausedLeader"},
	{bug: "keys are pruned by name", file: "prune.go", old: "client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}", with: "client.Preconditions{}", kind: "client.Preconditions", test: "TestOnlyWhatWasLookedAtIsPruned"},
	{bug: "keys of stored revisions are pruned", file: "prune.go", old: "append(used, on.ReadKeys()...)", with: "used", kind: "[]state.Key", test: "TestPrune"},
	{bug: "runs begin as soon as API servers agree", file: "migration.go", old: "SettleTime - (m.Clock.Monotonic() - m.since)", with: "0", kind: "time.Duration", test: "TestMigration"},
	{bug: "runs are believed though they left something", file: "migration.go", old: "m.Verifier == nil", with: "true", test: "TestARunLeavesSomething"},
	{bug: "the last revision may be gone", file: "rollout.go", old: "stored[len(stored)-1].number < latest", with: "false", test: "TestARevisionIsDeleted"},
	{bug: "a revision that is gone is none", file: "look.go", old: "errors.Is(err, ErrConfigGone)", with: "errors.Is(err, ErrConfigGone) && func() bool { err = nil; converged = true; return false }()", test: "TestARevisionIsDeleted"},
	{bug: "a node may come back with what writes otherwise", file: "rollout.go", old: "alike <= safe", with: "true", test: "TestADiskOfBeforeTheCycle"},
	{bug: "what writes otherwise is refused before all write with the key", file: "rollout.go", old: "v.deployed.Name != last.secret.Name", with: "false", test: "TestADiskOfBeforeTheCycle"},
	{bug: "runs begin while a node may be started with what writes otherwise", file: "migration.go", old: "!writesAlikeFor(gr, on, v.current)", with: "false", test: "TestADiskOfBeforeTheCycle"},
	{bug: "keys are dropped before the latest revision is loaded", file: "managed.go", old: "v.phase == state.Pruning && !v.latest(policy)", with: "false", test: "TestPruningWaitsForTheLatestRevision"},
	{bug: "two leaders write over each other all the time", file: "rival.go", old: "!sameWords(have, &before.condition)", with: "false", test: "TestRivalsDoNotFight"},
	{bug: "what a rival has said stands for ever", file: "rival.go", old: "wait > 0", with: "true", test: "TestRivalsDoNotFight"},

	// Keys of plugins.
	{bug: "nodes need not agree on the id of a plugin's key", file: "pluginhealth.go", old: "r.kek != kek", with: "false", test: "TestNodesThatDiffer"},
	{bug: "an id of a plugin's key counts at once", file: "kek.go", old: "now-w.since < KEKSettleTime", with: "false", test: "TestAnIDThatGoesToAndFro"},
	{bug: "it is noted that all is rewritten with whatever key the plugin has", file: "migration_note.go", old: "j.key.KEK.Target", with: "m.watch.kek", kind: "string", test: "TestAPluginRotatesDuringTheRun"},
	{bug: "a key is made while objects are rewritten for a plugin", file: "key.go", old: "latest.KEK.Pending()", with: "false", test: "TestAnotherKeyWaits"},
	{bug: "a key that was made meanwhile does not wait", file: "state/desired.go", old: "r.Write.KEK.Pending()", with: "false", pkg: root, test: "TestAnotherKeyWaits"},
	{bug: "ids of a plugin's key may change for ever", file: "kek.go", old: "now-k.settled > KEKPatience", with: "false", test: "TestAnIDThatGoesToAndFro"},
	{bug: "a run for one key of a plugin is taken for one for the next", file: "migration_note.go", old: `k.KEK.Target != ""`, with: "false", test: "TestAPluginRotatesItsKey"},

	// Plugins.
	{bug: "a plugin is changed without a check", file: "inplace.go", old: "!approved", with: "false", test: "TestAPluginIsUpdatedInPlace"},
	{bug: "a plugin that is well is changed while its key is under way", file: "inplace.go", old: "err != nil || len(reports.sick) == 0", with: "err != nil", test: "TestAPluginHoldsUpItsOwnRepair"},
	{bug: "a backup takes back what a plugin is run with", file: "managed.go", old: "there.KMS.Version > k.KMS.Version", with: "false", test: "TestAPluginFromABackup"},
	{bug: "an outage gives a key up", file: "deadplugin.go", old: "now-since > PluginPatience", with: "true", test: "TestAPluginIsDead"},
	{bug: "a plugin that is dead on one node gives its key up", file: "pluginhealth.go", old: "r.runs > 0 && len(r.sick) == r.runs", with: "len(r.sick) > 0", test: "TestAnOutage"},
	{bug: "keys are given up while older plugins are dead", file: "deadplugin.go", old: "len(r.sick) > 0", with: "false", test: "TestAnOlderPluginIsDeadToo"},
	{bug: "the plugins of other keys need not be well while one is given up", file: "deadplugin.go", old: "r.nodes == 0 || r.well < r.nodes", with: "false", test: "TestOthersHaveToBeWell"},
	{bug: "a key that is given up stays for backups", file: "state/desired.go", old: "k.GivenUp && !contains(expected, k)", with: "false", pkg: root, test: "TestAPluginIsDead"},
	{bug: "a key that was given up is still migrated when it is taken back", file: "state/leaving.go", old: "!r.HasWriteKey() || r.Write.ID < k.ID", with: "false", test: "TestWhatANewerKeyHadIsMigratedNoLonger"},
	{bug: "the way back is to a key that not all read with", file: "state/state.go", old: "k.ID < given.ID && !k.GivenUp", with: "!k.GivenUp", test: "TestFallBack"},
	{bug: "what is lost is forgotten at once", file: "loss.go", old: "now-at > lossMemory", with: "true", test: "TestWhatIsLostIsNamed"},
	{bug: "what has crashed hides that another is wanted", file: "preflight_decision.go", old: "ok && hash != s.wanted.String()", with: "ok && hash != s.wanted.String() && s.pod.Phase != corev1.PodFailed", test: "TestACrashedCheckDoesNotOutliveItsConfiguration"},
	{bug: "an attempt has no number", file: "approval.go", old: "before.ObservedGeneration + 1", with: "before.ObservedGeneration", kind: "int64", test: "TestThereAndBack"},
	{bug: "half a plugin is rendered", file: "sidecar/container.go", old: `k.KMS == nil || k.KMS.Plugin == ""`, with: "false", test: "TestWhatIsMissing"},
	{bug: "plugins collide on a port", file: "sidecar/container.go", old: "name != metricsFlag", with: "true", test: "TestRender"},

	{bug: "that there are no plugins is reported all the time", file: "kmshealth/reporter.go", old: "r.none && len(health) == 0", with: "false", test: "TestTheLastPluginGoes"},

	// Migrators.
	{bug: "what others write meanwhile is as good", file: "migration/rewrite.go", old: "apierrors.IsConflict(err) && again", with: "apierrors.IsConflict(err)", test: "TestSomebodyElseWrites"},
	{bug: "attempts follow at once", file: "migration/rewrite.go", old: "RetryMin << attempt", with: "0", kind: "time.Duration", test: "TestWhatPasses"},
	{bug: "what is not found is gone", file: "migration/rewrite.go", old: "there.GetUID() != obj.GetUID()", with: "true", test: "TestWhatDoesNotPass"},
	{bug: "a finished run of before is taken for the one of today", file: "storagemigration/migrator.go", old: "ended(o) != nil", with: "false", test: "TestACacheThatIsBehind"},

	// Nodes.
	{bug: "API servers need not be the same ones", file: "deployer/reload.go", old: "!slices.Equal(first, identities(leases))", with: "false", test: "TestReloading"},
	{bug: "a revision that was deleted is no configuration", file: "deployer/staticpods.go", old: "apierrors.IsNotFound(err) && revision == 0", with: "apierrors.IsNotFound(err)", test: "TestStaticPods"},
	{bug: "all nodes restart at once", file: "nodeagent/revision.go", old: "err != nil || !mine", with: "err != nil", test: "TestOneAfterTheOther"},
	{bug: "an API server need not be ready before the next", file: "nodeagent/revision.go", old: "!ready || revision != latest", with: "false", test: "TestANodeThatDoesNotComeBack"},
	{bug: "a node waits its turn with a revision that is not safe", file: "nodeagent/revision.go", old: "s.onDisk == 0 || s.onDisk >= safe", with: "true", test: "TestADiskOfBefore"},
	{bug: "files are not synced before they are named", file: "nodeagent/files.go", old: "a.cfg.Files.Sync(ctx, temporary)", with: "error(nil)", kind: "error", test: "TestAnAgentDies"},
	{bug: "a node goes back", file: "nodeagent/agent.go", old: "latest < s.onDisk", with: "false", test: "TestWhatAnAgentRefuses"},
	{bug: "the file changes before plugins are well", file: "nodeagent/reload.go", old: "err != nil || !up", with: "err != nil", test: "TestReload"},
	{bug: "an API server is not ready without a plugin that is given up", file: "nodeagent/excuse.go", old: "asksForPlugins(u) == excused", with: "false", test: "TestAPluginThatIsGivenUp"},
	{bug: "an API server need not have loaded what it was restarted for", file: "nodeagent/reload.go", old: "loaded == hash", with: "true", test: "TestAPluginThatIsGivenUpByReload"},
	{bug: "plugins go at once", file: "nodeagent/reload.go", old: "PluginGrace - a.cfg.Clock.Since(a.spare)", with: "0", kind: "time.Duration", test: "TestReload"},
}

// switchText is added to each package that a bug is planted in.
const switchText = `package %s

import "os"

var plantedBug = os.Getenv("SEEDBED_PLANTED")

func plantedPick[T any](bug string, with, written func() T) T {
	if plantedBug == bug {
		return with()
	}
	return written()
}
`

// TestPlantedBugs makes sure that the tests of this package and of those below it
// see each of the bugs, planted from outside, one at a time.
func TestPlantedBugs(t *testing.T) {
	if testing.Short() || os.Getenv("SEEDBED_SEEDS") == "" {
		t.Skip("builds tests anew and runs them for minutes; make planted does")
	}
	overlay := plantAll(t)
	programs := map[string]string{}
	for i := range plantedBugs {
		p := &plantedBugs[i]
		pkg := cmp.Or(p.pkg, filepath.Dir(p.file))
		if programs[pkg] == "" {
			programs[pkg] = filepath.Join(t.TempDir(), "test")
			cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", programs[pkg], "./"+pkg)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("build the tests of %s: %v\n%s", pkg, err, out)
			}
			if out, passes := p.run(programs[pkg], pkg, ""); !passes { // the others pass as written
				t.Fatalf("without a bug, %s of %s fails: %s", p.test, pkg, out)
			}
		}
		t.Run(p.bug, func(t *testing.T) {
			out, passes := p.run(programs[pkg], pkg, p.bug)
			if passes || !strings.Contains(out, "--- FAIL: "+p.test) && !strings.Contains(out, "panic: ") {
				t.Errorf("%s of %s does not see it: %s", p.test, pkg, out)
			}
		})
	}
}

// run runs the test with one of the bugs, or none, and reports whether it passes.
func (p *planted) run(program, pkg, bug string) (out string, passes bool) {
	args := []string{"-test.run", "^" + p.test + "$"}
	if pkg == "state" {
		args = append(args, "-rapid.checks=5000", "-rapid.nofailfile", "-rapid.shrinktime=1s")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = pkg
	cmd.Env = append(os.Environ(), "SEEDBED_PLANTED="+bug)
	said, err := cmd.CombinedOutput()
	return string(said), err == nil
}

// plantAll writes the files with all bugs in them, and returns the name of the list.
func plantAll(t *testing.T) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	texts := map[string]string{}
	for _, p := range plantedBugs {
		path, err := filepath.Abs(p.file)
		must(t, err)
		if texts[path] == "" {
			text, err := os.ReadFile(path)
			must(t, err)
			texts[path] = string(text)
		}
		if n := strings.Count(texts[path], p.old); n != 1 {
			t.Fatalf("%s has %q %d times, want once", p.file, p.old, n)
		}
		kind := cmp.Or(p.kind, "bool")
		pick := fmt.Sprintf("plantedPick(%q, func() %s { return %s }, func() %s { return %s })", p.bug, kind, p.with, kind, p.old)
		texts[path] = strings.Replace(texts[path], p.old, pick, 1)
	}
	for path, text := range texts {
		with := filepath.Join(dir, fmt.Sprintf("with-%d.go", len(replace)))
		must(t, os.WriteFile(with, []byte(text), 0o600))
		replace[path] = with
		pkg, _, _ := strings.Cut(strings.TrimPrefix(text[strings.Index(text, "package "):], "package "), "\n")
		added := filepath.Join(dir, "switch-"+pkg+".go")
		must(t, os.WriteFile(added, fmt.Appendf(nil, switchText, pkg), 0o600))
		replace[filepath.Join(filepath.Dir(path), "planted_switch.go")] = added
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	name := filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(name, list, 0o600))
	return name
}
