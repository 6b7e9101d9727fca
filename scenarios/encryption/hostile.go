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
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// HostileArgs say for how long an operator does harm.
type HostileArgs struct {
	For   scenarios.Duration `yaml:"for" form:"required,short" doc:"How long."`
	Every scenarios.Span     `yaml:"every" doc:"The time between two things that he does; 1m..40m by default."`
	Only  []string           `yaml:"only" doc:"The things that he does, if not all."`
}

// harm is one thing that a hostile operator does. It returns what it has done, in
// words; empty if there was nothing to do it to.
type harm struct {
	name   string
	weight int
	do     func(s *State, draw *engine.Stream) (string, error)
}

// harms are all that he may do. Each leaves a copy of every key that data is encrypted
// with: on the disks of nodes, if nowhere else.
var harms = append([]harm{
	{"type", 6, harmType},
	{"reason", 5, harmReason},
	{"resources", 2, harmResources},
	{"management", 2, harmManagement},
	{"interval", 1, harmInterval},
	{"key-deleted", 3, harmKeyDeleted},
	{"keys-deleted", 1, harmAllKeysDeleted},
	{"key-corrupted", 3, harmKeyCorrupted},
	{"managed-deleted", 2, harmManagedDeleted},
	{"managed-edited", 3, harmManagedEdited},
	{"revision-deleted", 2, harmRevisionDeleted},
	{"node-lost", 4, harmNodeLost},
	{"server-killed", 3, harmServerKilled},
	{"disk-restored", 1, harmDiskRestored},
	{"leader-paused", 5, harmLeaderPaused},
	{"leader-killed", 4, harmLeaderKilled},
	{"lease-deleted", 1, harmLeaseDeleted},
}, kmsHarms...)

func harmNames() []string {
	var names []string
	for _, h := range harms {
		names = append(names, h.name)
	}
	return names
}

// hostile does harm for a while.
func hostile(st *scenarios.Story, s *State, args HostileArgs) error {
	var chosen []harm
	total := 0
	for _, h := range harms {
		if len(args.Only) == 0 || slices.Contains(args.Only, h.name) {
			chosen = append(chosen, h)
			total += h.weight
		}
	}
	for _, name := range args.Only {
		if !slices.Contains(harmNames(), name) {
			return fmt.Errorf("there is no harm %q; there are %v", name, harmNames())
		}
	}
	every := args.Every
	if every.Max == 0 {
		every = span(time.Minute, 40*time.Minute)
	}
	draw := st.Engine().Stream("story", "harm")
	for end := st.Engine().Elapsed() + args.For.Std(); st.Engine().Elapsed() < end; {
		if err := st.Sleep(min(st.DrawSpan("pause", every), max(0, end-st.Engine().Elapsed()))); err != nil {
			return err
		}
		n := draw.Intn(total)
		for _, h := range chosen {
			if n -= h.weight; n >= 0 {
				continue
			}
			text, err := h.do(s, draw)
			switch {
			case err != nil:
				st.Tell(h.name, "tries in vain: %s: %v", h.name, err)
			case text != "":
				st.Tell(h.name, "%s", text)
			}
			break
		}
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

func harmType(s *State, draw *engine.Stream) (string, error) {
	kind := pick(draw, []v1alpha1.EncryptionType{v1alpha1.TypeAESCBC, v1alpha1.TypeAESGCM, v1alpha1.TypeIdentity, v1alpha1.TypeUnset})
	return fmt.Sprintf("wants the type %q", kind), s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.Type, p.KMS = kind, nil })
}

func harmReason(s *State, draw *engine.Stream) (string, error) {
	reason := fmt.Sprintf("reason-%d", draw.Intn(1000))
	return "wants another key: " + reason, s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.Rotation.Reason = reason })
}

func harmResources(s *State, draw *engine.Stream) (string, error) {
	var keep []schema.GroupResource
	for _, gr := range s.resources {
		if draw.Intn(2) == 0 {
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

func harmManagement(s *State, draw *engine.Stream) (string, error) {
	to := pick(draw, []v1alpha1.ManagementState{v1alpha1.Managed, v1alpha1.Managed, v1alpha1.Unmanaged, v1alpha1.Removed})
	return fmt.Sprintf("sets the management state %s", to), s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.ManagementState = to })
}

func harmInterval(s *State, draw *engine.Stream) (string, error) {
	d := time.Duration(1+draw.Intn(48)) * time.Hour
	return fmt.Sprintf("wants a new key every %s", d), s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.Rotation.Interval = &metav1.Duration{Duration: d} })
}

func harmKeyDeleted(s *State, draw *engine.Stream) (string, error) {
	name := s.keyAt(draw.Intn(4))
	if name == "" {
		return "", nil
	}
	return "deletes Secret " + name, s.deleteSecret(name)
}

func harmAllKeysDeleted(s *State, _ *engine.Stream) (string, error) {
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

func harmKeyCorrupted(s *State, draw *engine.Stream) (string, error) {
	name, how := s.keyAt(draw.Intn(3)), pickName(draw, corruptions)
	if name == "" {
		return "", nil
	}
	return fmt.Sprintf("spoils Secret %s: %s", name, how), s.editSecret(name, corruptions[how])
}

func harmManagedDeleted(s *State, _ *engine.Stream) (string, error) {
	if s.history.last().secret == nil {
		return "", nil
	}
	return "deletes the managed configuration", s.deleteSecret(managedName)
}

func harmManagedEdited(s *State, draw *engine.Stream) (string, error) {
	how := pickName(draw, managedEdits)
	if s.history.last().secret == nil {
		return "", nil
	}
	return "edits the managed configuration: " + how, s.editManaged(how)
}

func harmRevisionDeleted(s *State, draw *engine.Stream) (string, error) {
	revisions := slices.Sorted(maps.Keys(s.history.revisions))
	if len(revisions) == 0 {
		return "", nil
	}
	name := config.RevisionName(pick(draw, revisions))
	return "deletes Secret " + name, s.deleteSecret(name)
}

func harmNodeLost(s *State, draw *engine.Stream) (string, error) {
	n, d := pick(draw, s.nodes), draw.Duration(engine.Dist{Min: 10 * time.Second, Mean: 10 * time.Minute, Max: 2 * time.Hour})
	if s.up() <= 1 && n.server.answers() {
		return "", nil // somebody has to be asked
	}
	n.node.Restart(d)
	return fmt.Sprintf("pulls the plug of %s for %s", n.name, d.Round(time.Second)), nil
}

func harmServerKilled(s *State, draw *engine.Stream) (string, error) {
	n := pick(draw, s.nodes)
	if s.up() <= 1 && n.server.answers() {
		return "", nil
	}
	n.process.Crash()
	return "kills the API server on " + n.name, nil
}

func harmDiskRestored(s *State, draw *engine.Stream) (string, error) {
	n := pick(draw, s.nodes)
	if s.up() <= 1 && n.server.answers() {
		return "", nil
	}
	return n.restore(draw.Intn(3))
}

// leading is the process that leads; nil if none does.
func (s *State) leading() *cluster.Process {
	p := s.world.Cluster.Process(s.leader)
	if p == nil || !p.Alive() || p.Paused() || p.Incarnation() != s.leaderStart {
		return nil
	}
	return p
}

func harmLeaderPaused(s *State, draw *engine.Stream) (string, error) {
	p, d := s.leading(), draw.Duration(engine.Dist{Min: time.Second, Mean: 4 * time.Minute, Max: 30 * time.Minute})
	if p == nil {
		return "", nil
	}
	p.Pause(d)
	return fmt.Sprintf("freezes the leader, %s, for %s", p.Name(), d.Round(time.Second)), nil
}

func harmLeaderKilled(s *State, _ *engine.Stream) (string, error) {
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
