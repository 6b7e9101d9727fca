package encryption

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// properties are the invariants of the specification, in its order.
func properties() []scenarios.Property {
	return []scenarios.Property{
		always(readable, "Every API server that answers can read every object that is stored: an object that one of them cannot read fails whole lists, and a cold cache never comes up.", (*State).everythingReadable),
		always(mutual, "Every API server reads with the key that any other writes with: the next write of the one could not be read by the other.", (*State).mutuallyReadable),
		observedProperty(dropped, "A key is dropped from a configuration only when no object is encrypted with it and nobody writes with it: what it has encrypted would be lost."),
		observedProperty(keysKept, "The Secret of a key stays as long as any configuration has the key, and among the ten newest that nothing uses: a backup may need it."),
		observedProperty(idsUnique, "An id of a key stands for one key in all of history: under the same name another key reads garbage."),
		observedProperty(runsCount, "A migration counts only if all API servers wrote with its key from beginning to end: a write through another is silently left as it was."),
		observedProperty(migratedMeans, "What is noted to be rewritten with a key is: the keys before it are dropped on the strength of the note."),
		always(encryptedMeans, "While the condition Encrypted is True nothing is stored in plain text: auditors read it.", (*State).judgeEncrypted),
		observedProperty(oneStep, "A configuration differs from those that run in one of three ways: more is read, another key writes, or less is read. Else API servers in between could not read each other."),
		observedProperty(oneCycle, "No key is made before the cycle of the last is over: keys would pile up, and each costs every read."),
		observedProperty(configsValid, "Every configuration that controllers write is one that a kube-apiserver accepts: it would not start."),
		observedProperty(staleWrites, "Nothing is written on the strength of what has changed since, nor over what a later leader wrote: an old configuration cannot read what is written by now."),
		observedProperty(configStays, "After a revision with a configuration there is none without: an API server without one cannot read what is encrypted."),
		observedProperty(approvedKeys, "A key is made for a KMS plugin only if the very configuration that it is made of was checked, in the attempt that was asked for: what nobody has tried may lock everybody out."),
		observedProperty(ownConditions, "The two conditions by which a check is asked for and answered have one writer each, and no check is said to have passed that has not: else an answer could be one to another question."),
		observedProperty(noChecks, "No KMS plugin is checked while a key is under way: the cycle comes first."),
		observedProperty(oneCheck, "There is one Pod at most that checks a KMS plugin: two would speak for each other."),
		observedProperty(pluginsAgree, "What a KMS plugin is run with is the same in the Secret of its key and in all configurations, or of an earlier version: nodes would decrypt with different credentials."),
		scenarios.NewProperty(keysSecret, "No key material and no credential appears in conditions, events, logs or objects that are no Secrets: whoever reads those could read everything.",
			func(_ *scenarios.World, s *State) scenarios.Check {
				return scenarios.Check{Always: func() error { return s.breaches[keysSecret] }, Finally: s.readableObjects}
			}),
		scenarios.NewProperty(quiet, "When all is done nothing is written, and each controller looks once a minute at most: else a cluster would never be idle.",
			func(_ *scenarios.World, s *State) scenarios.Check {
				s.watchesRest = true
				return scenarios.Check{Always: func() error {
					if err := s.breaches[quiet]; err != nil {
						return err
					}
					return s.rest()
				}}
			}),
		scenarios.NewProperty(deadPlugins, "A KMS plugin that is dead for good, and not wanted any more, stops nobody: API servers are ready again and write with another key, and what nobody can read is named. A cluster that could not be brought away from it would be lost with it. But nothing is given up that may yet be read.",
			func(_ *scenarios.World, s *State) scenarios.Check {
				return scenarios.Check{
					Always:     func() error { return s.breaches[deadPlugins] },
					Eventually: s.deadPluginsAreLeft, Within: 90 * time.Minute,
				}
			}),
		eventually(policyMet, "Once nothing goes wrong any more the newest key is of the type that the policy asks for, everything is rewritten with it, and the condition says so.", 90*time.Minute, (*State).policyIsMetIfItCan),
		eventually(repairs, "Whatever people delete of the keys, the configurations and the revisions comes back, or what is as good, as long as there is one copy of each key: a slip of the hand must not cost data.", 90*time.Minute, (*State).allIsBack),
		scenarios.NewProperty(rotations, "Each reason that the policy gives makes one key and no more, and a key is followed by another when it is as old as it may be and not before: auditors count keys, and each costs a rewrite of everything.",
			func(_ *scenarios.World, s *State) scenarios.Check {
				s.watchesRest = true
				return scenarios.Check{
					Always: func() error {
						if err := s.breaches[rotations]; err != nil {
							return err
						}
						return s.rotatedInTime()
					},
					Eventually: s.reasonIsMet, Within: 90 * time.Minute,
				}
			}),
		eventually(checksUnblock, "A check that failed, hung or died does not keep the next from being made, and a plugin that is well passes in the end.", time.Hour, (*State).checksDoNotBlock),
		always(checkCleanedUp, "The Pod of a check that passed is kept for an hour, for its logs, and then goes: it holds credentials.", (*State).checksCleanedUp),
		eventually(decrypts, "Turning encryption off ends with everything in plain text: nobody could take the controllers away otherwise.", 90*time.Minute, (*State).plainAgain),
	}
}

// everythingReadable is I1.
func (s *State) everythingReadable() error {
	for _, gr := range s.resources {
		for _, o := range s.stored(gr) {
			if o.plain() {
				continue
			}
			for _, n := range s.nodes {
				if n.server.answers() && !o.readBy(find(n.server.loaded(), gr).Read) {
					return fmt.Errorf("%s is %s, and the API server on %s, with %s, cannot read it", s.example(gr, o), o.how(), n.name, order(find(n.server.loaded(), gr)))
				}
			}
		}
	}
	return nil
}

// mutuallyReadable is I2.
func (s *State) mutuallyReadable() error {
	for _, a := range s.nodes {
		if !a.server.answers() {
			continue
		}
		for _, gr := range s.resources {
			w := writer(find(a.server.loaded(), gr))
			if !w.Exists() {
				continue
			}
			for _, b := range s.nodes {
				if b.server.answers() && !contains(find(b.server.loaded(), gr).Read, w) {
					return fmt.Errorf("the API server on %s writes %s with %s, and that on %s reads with %s", a.name, gr, keyName(w), b.name, order(find(b.server.loaded(), gr)))
				}
			}
		}
	}
	return nil
}

// wanted is the mode that the policy asks for.
func (s *State) wanted() state.Mode {
	if s.policy.Spec.Type == v1alpha1.TypeUnset {
		return state.Identity
	}
	return state.Mode(s.policy.Spec.Type)
}

// never reports whether encryption was never asked for.
func (s *State) never() bool { return len(s.history.identity) == 0 }

// policyIsMet is L1.
func (s *State) policyIsMet() error {
	if s.policy.Spec.ManagementState != v1alpha1.Managed || s.never() && s.wanted() == state.Identity {
		return nil
	}
	keys := s.history.keys()
	if len(keys) == 0 {
		return errors.New("there is no key")
	}
	newest := keys[0]
	if newest.Mode != s.wanted() {
		return fmt.Errorf("the newest key is %s, and the policy asks for %s", keyName(newest), s.wanted())
	}
	for _, r := range s.policy.Spec.Resources {
		gr := groupResource(r)
		if !newest.Migrated.Has(gr) {
			return fmt.Errorf("%s is not rewritten with %s", gr, keyName(newest))
		}
		for _, o := range s.stored(gr) {
			if !o.writtenWith(newest) {
				return fmt.Errorf("%s is %s, and the newest key is %s", s.example(gr, o), o.how(), keyName(newest))
			}
		}
	}
	return s.conditionMatches(newest)
}

func (s *State) conditionMatches(newest state.Key) error {
	want := metav1.ConditionTrue
	if newest.Mode == state.Identity {
		want = metav1.ConditionFalse
	}
	if c := s.condition(v1alpha1.Encrypted); c.Status != want {
		return fmt.Errorf("the condition Encrypted is %s (%s), and should be %s", c.Status, c.Reason, want)
	}
	return nil
}

// plainAgain is L6.
func (s *State) plainAgain() error {
	if s.wanted() != state.Identity || s.policy.Spec.ManagementState != v1alpha1.Managed {
		return nil
	}
	for _, gr := range s.resources {
		for _, o := range s.stored(gr) {
			if !o.plain() {
				return fmt.Errorf("%s is %s", s.example(gr, o), o.how())
			}
		}
	}
	return nil
}
