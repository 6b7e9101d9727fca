package encryption

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/hostile"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// HostileArgs say for how long an operator does harm.
type HostileArgs struct {
	For   scenarios.Duration `yaml:"for" form:"required,short" doc:"How long."`
	Every scenarios.Span     `yaml:"every" doc:"The time between two things that he does; 1m..40m by default."`
	Only  []string           `yaml:"only" doc:"The things that he does, if not all."`
}

// hand is what a hostile operator works with.
type hand struct {
	*State
	draw *engine.Stream
}

// harms are all that he may do. Each leaves a copy of every key that data is encrypted
// with: on the disks of nodes, if nowhere else.
var harms = append([]hostile.Harm[hand]{
	hostile.Of("type", 6, harmType),
	hostile.Of("reason", 5, harmReason),
	hostile.Of("resources", 2, harmResources),
	hostile.Of("management", 2, harmManagement),
	hostile.Of("interval", 1, harmInterval),
	hostile.Of("key-deleted", 3, harmKeyDeleted),
	hostile.Of("keys-deleted", 1, harmAllKeysDeleted),
	hostile.Of("key-corrupted", 3, harmKeyCorrupted),
	hostile.Of("managed-deleted", 2, harmManagedDeleted),
	hostile.Of("managed-edited", 3, harmManagedEdited),
	hostile.Of("revision-deleted", 2, harmRevisionDeleted),
	hostile.Of("node-lost", 4, harmNodeLost),
	hostile.Of("server-killed", 3, harmServerKilled),
	hostile.Of("disk-restored", 1, harmDiskRestored),
	hostile.Of("leader-paused", 5, harmLeaderPaused),
	hostile.Of("leader-killed", 4, harmLeaderKilled),
	hostile.Of("lease-deleted", 1, harmLeaseDeleted),
}, kmsHarms...)

// beHostile does harm for a while.
func beHostile(st *scenarios.Story, s *State, args HostileArgs) error {
	every := args.Every
	if every.Max == 0 {
		every = span(time.Minute, 40*time.Minute)
	}
	h := hand{s, st.Engine().Stream("story", "harm")}
	if err := hostile.Do(st, hostile.Time{For: args.For.Std(), Every: every}, harms, args.Only, h.draw, func() hand { return h }); err != nil {
		return err
	}
	s.heal()
	return furnishAgain(st, s)
}

// furnishAgain brings back what KMS plugins refer to. API servers may need a while until
// they can write Secrets again.
func furnishAgain(st *scenarios.Story, s *State) error {
	const tries, between = 40, 30 * time.Second
	for try := 0; ; try++ {
		err := s.ensureCredential()
		if err == nil || try == tries {
			return err
		}
		if err := st.Sleep(between); err != nil {
			return err
		}
	}
}

func pick[T any](draw *engine.Stream, all []T) T { return all[draw.Intn(len(all))] }

func pickName[T any](draw *engine.Stream, all map[string]T) string {
	return pick(draw, slices.Sorted(maps.Keys(all)))
}

func harmType(s hand) (string, error) {
	kind := pick(s.draw, []v1alpha1.EncryptionType{v1alpha1.TypeAESCBC, v1alpha1.TypeAESGCM, v1alpha1.TypeIdentity, v1alpha1.TypeUnset})
	return fmt.Sprintf("wants the type %q", kind), s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.Type, p.KMS = kind, nil })
}

func harmReason(s hand) (string, error) {
	reason := fmt.Sprintf("reason-%d", s.draw.Intn(1000))
	return "wants another key: " + reason, s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.Rotation.Reason = reason })
}

func harmResources(s hand) (string, error) {
	var keep []schema.GroupResource
	for _, gr := range s.resources {
		if s.draw.Intn(2) == 0 {
			keep = append(keep, gr)
		}
	}
	if len(keep) == 0 {
		keep = s.resources
	}
	return fmt.Sprintf("wants only %v to be encrypted", keep), s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) {
		p.Resources = nil
		for _, gr := range keep {
			p.Resources = append(p.Resources, v1alpha1.Resource(gr))
		}
	})
}

func harmManagement(s hand) (string, error) {
	to := pick(s.draw, []v1alpha1.ManagementState{v1alpha1.Managed, v1alpha1.Managed, v1alpha1.Unmanaged, v1alpha1.Removed})
	return fmt.Sprintf("sets the management state %s", to), s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.ManagementState = to })
}

func harmInterval(s hand) (string, error) {
	d := time.Duration(1+s.draw.Intn(48)) * time.Hour
	return fmt.Sprintf("wants a new key every %s", d), s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.Rotation.Interval = &metav1.Duration{Duration: d} })
}

func harmKeyDeleted(s hand) (string, error) {
	name := s.keyAt(s.draw.Intn(4))
	if name == "" {
		return "", nil
	}
	return "deletes Secret " + name, s.deleteSecret(name)
}

func harmAllKeysDeleted(s hand) (string, error) {
	names := slices.Sorted(maps.Keys(s.history.names))
	for _, name := range names {
		if err := s.deleteSecret(name); err != nil {
			return "", err
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return fmt.Sprintf("deletes all %d keys", len(names)), nil
}

func harmKeyCorrupted(s hand) (string, error) {
	name, how := s.keyAt(s.draw.Intn(3)), pickName(s.draw, corruptions)
	if name == "" {
		return "", nil
	}
	return fmt.Sprintf("spoils Secret %s: %s", name, how), s.editSecret(name, corruptions[how])
}

func harmManagedDeleted(s hand) (string, error) {
	if s.history.last().secret == nil {
		return "", nil
	}
	return "deletes the managed configuration", s.deleteSecret(managedName)
}

func harmManagedEdited(s hand) (string, error) {
	how := pickName(s.draw, managedEdits)
	if s.history.last().secret == nil {
		return "", nil
	}
	return "edits the managed configuration: " + how, s.editManaged(how)
}

func harmRevisionDeleted(s hand) (string, error) {
	revisions := slices.Sorted(maps.Keys(s.history.revisions))
	if len(revisions) == 0 {
		return "", nil
	}
	name := config.RevisionName(pick(s.draw, revisions))
	return "deletes Secret " + name, s.deleteSecret(name)
}

func harmNodeLost(s hand) (string, error) {
	n, d := pick(s.draw, s.nodes), s.draw.Duration(engine.Dist{Min: 10 * time.Second, Mean: 10 * time.Minute, Max: 2 * time.Hour})
	if s.up() <= 1 && n.server.answers() {
		return "", nil // somebody has to be asked
	}
	n.node.Restart(d)
	return fmt.Sprintf("pulls the plug of %s for %s", n.name, d.Round(time.Second)), nil
}

func harmServerKilled(s hand) (string, error) {
	n := pick(s.draw, s.nodes)
	if s.up() <= 1 && n.server.answers() {
		return "", nil
	}
	n.process.Crash()
	return "kills the API server on " + n.name, nil
}

func harmDiskRestored(s hand) (string, error) {
	n := pick(s.draw, s.nodes)
	if s.up() <= 1 && n.server.answers() {
		return "", nil
	}
	return n.restore(s.draw.Intn(3))
}

// leading is the process that leads; nil if none does.
func (s *State) leading() *cluster.Process {
	p := s.world.Cluster.Process(s.leader)
	if p == nil || !p.Alive() || p.Paused() || p.Incarnation() != s.leaderStart {
		return nil
	}
	return p
}

func harmLeaderPaused(s hand) (string, error) {
	p, d := s.leading(), s.draw.Duration(engine.Dist{Min: time.Second, Mean: 4 * time.Minute, Max: 30 * time.Minute})
	if p == nil {
		return "", nil
	}
	p.Pause(d)
	return fmt.Sprintf("freezes the leader, %s, for %s", p.Name(), d.Round(time.Second)), nil
}

func harmLeaderKilled(s hand) (string, error) {
	p := s.leading()
	if p == nil {
		return "", nil
	}
	p.Crash()
	return "kills the leader, " + p.Name(), nil
}

// up is how many API servers answer.
func (s *State) up() int {
	n := 0
	for _, node := range s.nodes {
		if node.server.answers() {
			n++
		}
	}
	return n
}
