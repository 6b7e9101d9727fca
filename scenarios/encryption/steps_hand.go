package encryption

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// KeyArgs name a key.
type KeyArgs struct {
	Key string `yaml:"key" form:"short" doc:"newest, oldest, all, or its id; the newest by default."`
}

// SpoilArgs say what is done to the Secret of a key.
type SpoilArgs struct {
	Key  string `yaml:"key" doc:"newest, oldest or its id; the newest by default."`
	What string `yaml:"what" form:"required,short" enum:"timestamp migrated mode material reason forgotten other-material" doc:"What is written into it."`
}

// ManagedArgs say what is done to the managed configuration.
type ManagedArgs struct {
	How string `yaml:"how" form:"required,short" enum:"deleted garbage emptied older first touched" doc:"What is done."`
}

// RevisionArgs name a revision.
type RevisionArgs struct {
	Which string `yaml:"which" form:"short" enum:"latest oldest all" doc:"Which; the latest by default."`
}

// LeaderArgs say what befalls the leader.
type LeaderArgs struct {
	For *scenarios.Span `yaml:"for" form:"short" doc:"For how long it is frozen; without it, it is killed."`
}

// RestoreArgs say which disk is restored.
type RestoreArgs struct {
	Node scenarios.NodeName `yaml:"node" form:"required" doc:"The node."`
	Ago  int                `yaml:"ago" form:"min=0,max=100" doc:"How many revisions ago the backup was made."`
}

func handSteps() []scenarios.StepKind {
	return []scenarios.StepKind{
		scenarios.NewStep("deleteKey", "Somebody deletes the Secret of a key, finalizer or not.", "encryption.deleteKey: newest", deleteKey),
		scenarios.NewStep("spoilKey", "Somebody edits the Secret of a key.", "encryption.spoilKey: {what: migrated}", spoilKey),
		scenarios.NewStep("editManaged", "Somebody edits or deletes the managed configuration.", "encryption.editManaged: garbage", editManaged),
		scenarios.NewStep("deleteRevision", "Somebody deletes the Secret of a revision.", "encryption.deleteRevision: latest", deleteRevision),
		scenarios.NewStep("leader", "The process that leads is frozen for a while, or killed.", "encryption.leader: 3m..10m", strikeLeader),
		scenarios.NewStep("restoreDisk", "The disk of a node comes back from a backup, and the node restarts.", "encryption.restoreDisk: {node: node-1, ago: 1}", restoreDisk),
	}
}

func deleteKey(st *scenarios.Story, s *State, args KeyArgs) error {
	if args.Key == "all" {
		st.Tell("keys", "deletes the Secrets of all keys")
		for _, name := range slices.Sorted(maps.Keys(s.history.names)) {
			if err := s.deleteSecret(name); err != nil {
				return err
			}
		}
		return nil
	}
	name, err := s.keyNumber(args.Key)
	if err != nil {
		return err
	}
	st.Tell("keys", "deletes Secret %s", name)
	return s.deleteSecret(name)
}

func spoilKey(st *scenarios.Story, s *State, args SpoilArgs) error {
	name, err := s.keyNumber(args.Key)
	if err != nil {
		return err
	}
	st.Tell("keys", "spoils Secret %s: %s", name, args.What)
	if args.What == "other-material" {
		return s.replaceKey(name)
	}
	return s.editSecret(name, corruptions[args.What])
}

// replaceKey puts another key in place of one, under the same name.
func (s *State) replaceKey(name string) error {
	old, err := s.secretNamed(name)
	if err != nil {
		return err
	}
	if err := s.deleteSecret(name); err != nil {
		return err
	}
	next := &corev1.Secret{Type: old.Type, Data: maps.Clone(old.Data)}
	next.Namespace, next.Name, next.Labels, next.Finalizers, next.Annotations = old.Namespace, old.Name, old.Labels, old.Finalizers, old.Annotations
	next.Data[keysecret.Material] = []byte(strings.Repeat("another!", 4))
	if err := s.operator.Create(background, next); err != nil {
		return fmt.Errorf("create Secret %s again: %w", name, err)
	}
	return nil
}

func editManaged(st *scenarios.Story, s *State, args ManagedArgs) error {
	st.Tell("config", "does to the managed configuration: %s", args.How)
	if args.How == "deleted" {
		return s.deleteSecret(managedName)
	}
	return s.editManaged(args.How)
}

func deleteRevision(st *scenarios.Story, s *State, args RevisionArgs) error {
	revisions := slices.Sorted(maps.Keys(s.history.revisions))
	if len(revisions) == 0 {
		return errNothing
	}
	switch args.Which {
	case "all":
	case "oldest":
		revisions = revisions[:1]
	default:
		revisions = revisions[len(revisions)-1:]
	}
	for _, r := range revisions {
		st.Tell("revision", "deletes the Secret of revision %d", r)
		if err := s.deleteSecret(config.RevisionName(r)); err != nil {
			return err
		}
	}
	return nil
}

func strikeLeader(st *scenarios.Story, s *State, args LeaderArgs) error {
	p := s.leading()
	if p == nil {
		return fmt.Errorf("the leader: %w", errNothing)
	}
	if args.For == nil {
		st.Tell(p.Name(), "kills the leader, %s", p.Name())
		p.Crash()
		return nil
	}
	d := st.DrawSpan("pause", *args.For)
	st.Tell(p.Name(), "freezes the leader, %s, for %s", p.Name(), d)
	p.Pause(d)
	return nil
}

func restoreDisk(st *scenarios.Story, s *State, args RestoreArgs) error {
	text, err := s.byName[st.Node(args.Node)].restore(args.Ago)
	if err == nil && text == "" {
		err = fmt.Errorf("a backup of %d revisions ago: %w", args.Ago, errNothing)
	}
	if err == nil {
		st.Tell(string(args.Node), "%s", text)
	}
	return err
}
