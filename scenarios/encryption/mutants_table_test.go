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
		bug: "a new key does not wait for the cycle of the last", property: scenarios.StoryCompletes,
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
		bug: "the check of an earlier configuration counts (library-go 2446)", property: "kms-keys-are-approved",
		scenario: "preflight/x01-configuration-changes-before-the-key.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "anyVerdict", File: core + "approval.go",
			Old: "switch verdict(policy, asked) {\n\tcase metav1.ConditionTrue:",
			New: "switch verdict(policy, asked) {\n\tcase metav1.ConditionTrue, metav1.ConditionUnknown:",
		},
	},
	{
		bug: "checks are made while a key is under way", property: "no-check-during-a-cycle",
		scenario: "preflight/x04-another-key-right-after-the-key.yaml", seeds: 3,
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
}
