package encryption_test

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
	quick    bool   // it takes seconds, so it is tried in every test run
	drawn    bool   // see planted.Bug
}

const core = "core/encryption/"

// plantedBugs lists at least one bug for each property, in the order of the
// properties, the weaknesses that others have had among them.
var plantedBugs = []planted{
	{
		bug: "a new key writes before everybody reads with it", property: "one-step-at-a-time",
		scenario: "rotation/01-aescbc.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "writeAtOnce", File: core + "state/desired.go",
			Old: "if next.read(expected) || next.newestReadIsUnbacked() {",
			New: "if next.newestReadIsUnbacked() || next.read(expected) && len(keys) == 1 {",
		},
	},
	{
		bug: "pods that are being deleted do not count (hypershift 8972)", property: "one-step-at-a-time",
		scenario: "nodes/x23-old-pod-drains.yaml", seeds: 10,
		Mutant: mutant.Mutant{
			Name: "drainedIsGone", File: core + "deployer/staticpods.go",
			Old: "case pod.DeletionTimestamp != nil:\n\t\t\treturn sight{why: fmt.Sprintf(\"pod %s is being deleted, and may still answer\", name)}, nil",
			New: "case pod.DeletionTimestamp != nil:\n\t\t\ts.nodes = append(s.nodes, pod.Spec.NodeName)\n\t\t\tcontinue",
		},
	},
	{
		bug: "what somebody wrote by hand is rolled out", property: "configurations-do-not-vanish",
		scenario: "operator/x24-managed-emptied.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "cutAnything", File: core + "rollout.go",
			Old: "if err != nil || !next {\n\t\t\tout.after = ConvergenceRetry\n\t\t\treturn err\n\t\t}",
			New: "if err != nil {\n\t\t\treturn err\n\t\t}\n\t\t_ = next",
		},
	},
	{
		bug: "keys are noted as migrated without a run", property: "migrated-means-rewritten",
		scenario: "rotation/01-aescbc.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "skipWrites", File: core + "migration/rewrite.go",
			Old: "if err := m.writeAll(ctx, gr, page.Items); err != nil {",
			New: "if err := m.writeAll(ctx, gr, nil); err != nil {",
		},
	},
	{
		bug: "a new key does not wait for the cycle of the last", property: "one-cycle-at-a-time",
		scenario: "operator/x39-change-of-mind-during-a-migration.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "keyInBetween", File: core + "key.go",
			Old: "case !latest.Migrated.HasAll(n.all), latest.KEK.Pending(): // the cycle of the last is not over\n\t\treturn \"\", nil\n",
			New: "",
		},
	},
	{
		bug: "a paused leader writes over what the next has written", property: "no-write-from-an-old-look",
		scenario: "rotation/01-aescbc.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "blindOverwrite", File: core + "managed.go",
			Old: "next := stored.DeepCopy() // with its resourceVersion",
			New: "next := stored.DeepCopy()\n\tnext.ResourceVersion = \"\"",
		},
	},
	{
		// Example 1 of the public document: the configuration changes before the key is made.
		bug: "the check of an earlier configuration counts (library-go 2446)", property: "kms-keys-are-approved",
		scenario: "preflight/x01-configuration-changes-before-the-key.yaml", seeds: 3, drawn: true,
		Mutant: mutant.Mutant{
			Name: "anyVerdict", File: core + "approval.go",
			Old: "switch verdict(policy, asked) {\n\tcase metav1.ConditionTrue:",
			New: "switch verdict(policy, asked) {\n\tcase metav1.ConditionTrue, metav1.ConditionUnknown:",
		},
	},
	{
		// Example 2 of the public document: the configuration changes after the key is made.
		bug: "checks are made while a key is under way", property: "no-check-during-a-cycle",
		scenario: "preflight/x04-another-key-right-after-the-key.yaml", seeds: 3, drawn: true,
		Mutant: mutant.Mutant{
			Name: "checkInBetween", File: core + "key.go",
			Old: "case !latest.Migrated.HasAll(n.all), latest.KEK.Pending():",
			New: "case n.wanted != state.KMS && !latest.Migrated.HasAll(n.all):",
		},
	},
	{
		bug: "an id is used again once its Secret is gone", property: "ids-are-never-reused",
		scenario: "operator/x25-key-deleted-before-the-rollout.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "reuseID", File: core + "key.go",
			Old: "ID: uint64(out.highestKey) + 1,",
			New: "ID: v.highestID() + 1,",
		},
	},
	{
		bug: "an event shows the material of a key", property: "keys-stay-secret",
		scenario: "rotation/01-aescbc.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "chattyKey", File: core + "key.go",
			Old: "fmt.Sprintf(\"Created Secret %s/%s for: %s\", s.Namespace, s.Name, key.InternalReason)",
			New: "fmt.Sprintf(\"Created Secret %s/%s for: %s %x\", s.Namespace, s.Name, key.InternalReason, s.Data)",
		},
	},
	{
		bug: "what is decrypted is said to be encrypted", property: "encrypted-means-encrypted",
		scenario: "rotation/02-off-again.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "neverFalse", File: core + "encrypted.go",
			Old: "if k.Migrated.HasAll(v.grs) {\n\t\treturn metav1.ConditionFalse, ReasonDecryptionCompleted",
			New: "if k.Migrated.HasAll(v.grs) {\n\t\treturn metav1.ConditionTrue, ReasonDecryptionCompleted",
		},
	},
	{
		bug: "an API server starts with a disk of before", property: "everything-stays-readable",
		scenario: "nodes/x20-disk-from-a-backup.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "openGate", File: core + "nodeagent/gate.go",
			Old: "case err == nil && cfg.Revision < policy.Status.MinSafeRevision:",
			New: "case err == nil && cfg.Revision < 0:",
		},
	},
	{
		bug: "plugins end before the API server has drained (library-go 2233)", property: "everything-stays-readable",
		scenario: "kms/x32-plugins-end-last.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "pluginsFirst", File: core + "sidecar/render.go",
			Old: "next.InitContainers = append(plugins, next.InitContainers...)",
			New: "next.Containers = append(next.Containers, plugins...)",
		},
	},
	{
		bug: "the reader before the last is dropped (library-go 603, 622)", property: "everything-stays-readable",
		scenario: "operator/x47-backup-of-the-cycle-before.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "oneReaderLess", File: core + "state/desired.go",
			Old: "return !k.GivenUp }); older >= 0 {",
			New: "return !k.GivenUp }); older > len(keys) {",
		},
	},
	{
		bug: "a removed resource goes at once", property: "everything-stays-readable",
		scenario: "operator/x41-nothing-to-encrypt.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "strandedResource", File: core + "state/leaving.go",
			Old: "return r.Plainly() && Decrypted(r.GroupResource, keys)",
			New: "return r.Plainly()",
		},
	},
	{
		bug: "an API server starts with a disk of before, with nothing stored", property: "servers-read-each-other",
		scenario: "nodes/x20b-disk-from-a-backup-nothing-stored.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "openGateAgain", File: core + "nodeagent/gate.go",
			Old: "return fmt.Errorf(\"start with revision %d: %w, %d\", cfg.Revision, ErrUnsafe, policy.Status.MinSafeRevision)",
			New: "return nil",
		},
	},
	{
		bug: "old keys are dropped as soon as another writes", property: "keys-are-dropped-when-nothing-needs",
		scenario: "rotation/01-aescbc.yaml", seeds: 3, quick: true,
		Mutant: mutant.Mutant{
			Name: "dropWhileMigrating", File: core + "state/desired.go",
			Old: "if !write.Migrated.HasAll(next.Resources()) {\n\t\treturn next, Migrating\n\t}\n\tif next.prune(expected) {",
			New: "if next.prune(keys[:1]) {",
		},
	},
	{
		bug: "every key but the newest is deleted", property: "keys-in-use-are-kept",
		scenario: "rotation/01-aescbc.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "pruneAll", File: core + "prune.go",
			Old: "unused := slices.DeleteFunc(slices.Clone(v.stored), func(s storedKey) bool { return s.err == nil && contains(used, s.key) })\n\tslices.SortStableFunc(unused, func(a, b storedKey) int { return cmp.Compare(b.id(), a.id()) })\n\tif len(unused) <= UnusedKeysKept {\n\t\treturn nil\n\t}",
			New: "unused := slices.Clone(v.stored)\n\tslices.SortStableFunc(unused, func(a, b storedKey) int { return cmp.Compare(b.id(), a.id()) })\n\tif len(unused) < 2 || len(used) == 0 {\n\t\treturn nil\n\t}\n\tunused = append(slices.Repeat(unused[:1], UnusedKeysKept), unused[1:]...)",
		},
	},
	{
		bug: "a run does not say which key it is for (hypershift 8219)", property: "runs-count-only-under-one-key",
		scenario: "rotation/01-aescbc.yaml", seeds: 3, quick: true,
		Mutant: mutant.Mutant{
			Name: "namelessRun", File: core + "migration_note.go",
			Old: "run := strconv.FormatUint(k.ID, 10)",
			New: "run := strconv.FormatUint(0, 10)",
		},
	},
	{
		bug: "two groups share the name of a KMS provider", property: "configurations-are-valid",
		scenario: "kms/x42-one-name-in-two-groups.yaml", seeds: 2, quick: true,
		Mutant: mutant.Mutant{
			Name: "bareName", File: core + "config/providers.go",
			Old: "return fmt.Sprintf(\"%d_%s\", id, gr)",
			New: "return fmt.Sprintf(\"%d_%s\", id, gr.Resource)",
		},
	},
	{
		// The race that the public document begins with: what one has asked the other overwrites.
		bug: "one manager writes the question and the answer", property: "conditions-have-one-writer",
		scenario: "preflight/x01-configuration-changes-before-the-key.yaml", seeds: 2, quick: true, drawn: true,
		Mutant: mutant.Mutant{
			Name: "oneManager", File: core + "preflight.go",
			Old: "return p.applyStatus(ctx, policy, p.Name+\"-\"+v1alpha1.KMSPreflightSucceeded, out)",
			New: "return p.applyStatus(ctx, policy, p.Name+\"-\"+v1alpha1.KMSPreflightRequired, out)",
		},
	},
	{
		bug: "a check that takes a while is made again beside itself", property: "one-check-at-a-time",
		scenario: "preflight/x01-configuration-changes-before-the-key.yaml", seeds: 2, quick: true,
		Mutant: mutant.Mutant{
			Name: "checkBeside", File: core + "preflight_decision.go",
			Old: "case s.pod == nil:\n\t\treturn s.deploy()",
			New: "case s.pod == nil, s.verdict == metav1.ConditionUnknown && condition(s.pod, KMSPreflightResultPodCondition) == nil:\n\t\treturn s.deploy()",
		},
	},
	{
		bug: "a plugin that is changed in place has no new version", property: "plugin-data-agrees",
		scenario: "preflight/x06-credential-is-replaced.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "sameVersion", File: core + "inplace.go",
			Old: "next.Version = s.key.KMS.Version + 1",
			New: "next.Version = s.key.KMS.Version",
		},
	},
	{
		bug: "what was observed is written again and again", property: "quiet-when-all-is-done",
		scenario: "rotation/02-off-again.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "alwaysNews", File: core + "instances.go",
			Old: "was != nil && sameInstance(was, &next)",
			New: "was != nil && was.ObservedAt == nil",
		},
	},
	{
		bug: "the Pod of a check that died keeps the next away (library-go 2449)", property: "checks-do-not-block-the-next",
		scenario: "preflight/l2-next-after-a-crash.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "stalePod", File: core + "preflight.go",
			Old: "case d.cleanup && !p.clean:",
			New: "case d.cleanup && !p.clean && (s.pod == nil || s.pod.Phase != corev1.PodFailed):",
		},
	},
	{
		bug: "the Pod of a check that passed stays", property: "successful-checks-are-cleaned-up",
		scenario: "kms/x13-broken-on-one-node.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "podStays", File: core + "preflight_decision.go",
			Old: "if s.kms && s.fresh() > 0 {\n\t\t\treturn decision{after: s.fresh()}\n\t\t}",
			New: "if s.kms {\n\t\t\treturn decision{after: max(time.Minute, s.fresh())}\n\t\t}",
		},
	},
	{
		bug: "a resource that was taken out is not decrypted", property: "turning-off-ends-in-plain-text",
		scenario: "rotation/06-off-with-one-taken-out.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "leftEncrypted", File: core + "migration_note.go",
			Old: "if r.Plainly() && !state.Decrypted(gr, v.keys) && len(v.keys) > 0 {",
			New: "if false {",
		},
	},
	{
		bug: "another type asks for nothing", property: "the-policy-is-met",
		scenario: "rotation/06-off-with-one-taken-out.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "sameType", File: core + "key.go",
			Old: "case latest.Mode != n.wanted:\n\t\treturn \"encryption-mode-changed\", nil",
			New: "case latest.Mode != n.wanted:\n\t\treturn \"\", nil",
		},
	},
	{
		bug: "a configuration that is gone stays so when nothing is to be done", property: "deleted-objects-come-back",
		scenario: "operator/l3-configuration-deleted-at-last.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "goneForGood", File: core + "managed.go",
			Old: "if len(v.desired) == 0 {\n\t\treturn nil // API servers would refuse it",
			New: "if len(v.desired) == 0 || stored == nil && v.phase == state.Settled {\n\t\treturn nil // API servers would refuse it",
		},
	},
	{
		bug: "keys are old at half of their time", property: "one-key-for-each-reason",
		scenario: "rotation/03-when-a-key-is-old.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "halfTime", File: core + "key.go",
			Old: "case n.now.Sub(latest.Migrated.Time) > n.interval():",
			New: "case n.now.Sub(latest.Migrated.Time) > n.interval()/2:",
		},
	},
	{
		bug: "a key does not remember what it was made for", property: "one-key-for-each-reason",
		scenario: "rotation/01-aescbc.yaml", seeds: 3, quick: true,
		Mutant: mutant.Mutant{
			Name: "noReason", File: core + "key.go",
			Old: "InternalReason: reason, ExternalReason: policy.Spec.Rotation.Reason,",
			New: "InternalReason: reason,",
		},
	},
	{
		bug: "keys pile up while old ones are read", property: "one-cycle-at-a-time",
		scenario: "operator/x38-change-of-mind-every-minute.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "tooManyReaders", File: core + "key.go",
			Old: "case backed > 2: // old keys have yet to be dropped\n\t\treturn \"\", nil\n",
			New: "",
		},
	},
	{
		bug: "API servers without a configuration are taken for migrated (identity window)", property: "encrypted-means-encrypted",
		scenario: "operator/x25b-configuration-gone-and-agents-away.yaml", seeds: 10,
		Mutant: mutant.Mutant{
			Name: "stillMigrated", File: core + "managed.go",
			Old: "if len(migrated) == 0 && len(decrypted) == 0 {",
			New: "if true {",
		},
	},
	{
		bug: "a resource that comes back is taken for migrated", property: "encrypted-means-encrypted",
		scenario: "operator/x40-resources-come-and-go.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "cameBackMigrated", File: core + "state/leaving.go",
			Old: "if slices.Contains(grs, gr) == (len(current) == 0) || newerThanWriter(k, current.Find(gr)) {",
			New: "if slices.Contains(grs, gr) && len(current) == 0 {",
		},
	},
	{
		bug: "keys are deleted whatever they are by now", property: "no-write-from-an-old-look",
		scenario: "operator/x48-many-rotations.yaml", seeds: 1,
		Mutant: mutant.Mutant{
			Name: "blindDelete", File: core + "prune.go",
			Old: "client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}",
			New: "client.Preconditions{}",
		},
	},
	{
		bug: "a question is never withdrawn, so the answer of weeks ago counts (library-go 2477)", property: scenarios.StoryCompletes,
		scenario: "preflight/x46-the-same-plugin-weeks-later.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "oldAnswer", File: core + "approval.go",
			Old: "if c == nil || c.Status == metav1.ConditionFalse {",
			New: "if c == nil || c.Status != metav1.ConditionUnknown {",
		},
	},
	{
		bug: "the hash of a configuration does not tell credentials apart", property: scenarios.StoryCompletes,
		scenario: "preflight/x06-credential-is-replaced.yaml", seeds: 5,
		Mutant: mutant.Mutant{
			Name: "weakHash", File: core + "snapshot.go",
			Old: "sum.add(entry, value)\n\t\tdata.Secrets",
			New: "sum.add(entry, nil)\n\t\tdata.Secrets",
		},
	},
	{
		bug: "ended Pods of older revisions block (library-go 1276)", property: scenarios.StoryCompletes,
		scenario: "nodes/x22-failed-pod-lies-around.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "endedBlocks", File: core + "deployer/staticpods.go",
			Old: "if theirs > revision {",
			New: "if theirs != revision {",
		},
	},
	{
		bug: "a list that has expired is taken for a whole one", property: "migrated-means-rewritten",
		scenario: "migrations/x36-list-cannot-go-on.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "expiredIsDone", File: core + "migration/rewrite.go",
			Old: "if token, err = laterToken(err); err != nil {\n\t\t\t\treturn nil, err\n\t\t\t}",
			New: "return list, nil",
		},
	},
	{
		bug: "who is refused tries for ever (migrator 47)", property: scenarios.StoryCompletes,
		scenario: "migrations/x34-object-that-nobody-may-write.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "refusedForEver", File: core + "migration/rewrite.go",
			Old: "return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err)",
			New: "return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsConflict(err) || apierrors.IsServerTimeout(err)",
		},
	},
	{
		bug: "it is not noted which key of a plugin all is written with (library-go 2287)", property: scenarios.StoryCompletes,
		scenario: "kms/x30-service-rotates-its-key.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "kekForgotten", File: core + "migration_note.go",
			Old: "next.KEK.Migrated = j.key.KEK.Target",
			New: "next.KEK.Migrated = \"\"",
		},
	},
	{
		bug: "components need not agree", property: scenarios.StoryCompletes,
		scenario: "nodes/x44-two-operands-disagree.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "firstOperand", File: core + "deployer/union.go",
			Old: "if !same {",
			New: "if !same && i > 1 {",
		},
	},
	{
		bug: "API servers agree on what one of them has loaded", property: "one-step-at-a-time",
		scenario: "nodes/x43c-never-looks.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "firstServer", File: core + "deployer/reload.go",
			Old: "if theirs != hash {",
			New: "if theirs != hash && round == 5 {",
		},
	},
	{
		bug: "files are not synced before they are named", property: "everything-stays-readable",
		scenario: "races/x08g-power-lost-under-the-agent.yaml", seeds: 10,
		Mutant: mutant.Mutant{
			Name: "unsynced", File: core + "nodeagent/files.go",
			Old: "if err := a.cfg.Files.Sync(ctx, temporary); err != nil {",
			New: "if err := error(nil); err != nil {",
		},
	},
	{
		bug: "a plugin that does not start keeps its repair away (library-go 2241, 2393)", property: scenarios.StoryCompletes,
		scenario: "kms/x13b-repaired-in-place.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "noRescue", File: core + "inplace.go",
			Old: "if err != nil || len(reports.sick) == 0 {",
			New: "if err != nil || len(reports.sick) >= 0 {",
		},
	},
	{
		bug: "what is not found counts as rewritten (library-go 2364)", property: "migrated-means-rewritten",
		scenario: "migrations/x34b-object-whose-namespace-is-gone.yaml", seeds: 2,
		Mutant: mutant.Mutant{
			Name: "notFoundIsGone", File: core + "migration/rewrite.go",
			Old: "case there == nil, there.GetUID() != obj.GetUID():",
			New: "case there == nil || there != nil:",
		},
	},
}
