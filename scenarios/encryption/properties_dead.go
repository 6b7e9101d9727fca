package encryption

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/kmshealth"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// isDead reports whether the plugin of a key is dead wherever it runs.
func (s *State) isDead(id uint64) bool {
	runs := false
	for _, n := range s.nodes {
		for _, p := range n.plugins {
			if p.id != id {
				continue
			}
			if runs = true; !saysSo(s.behaviour(n, p)) {
				return false
			}
		}
	}
	return runs
}

// followPlugins notes since when plugins are dead wherever they run.
func (s *State) followPlugins() {
	now := s.world.Engine().Elapsed()
	for _, n := range s.nodes {
		for _, p := range n.plugins {
			_, was := s.kms.deadSince[p.id]
			switch is := s.isDead(p.id); {
			case is && !was:
				s.kms.deadSince[p.id] = now
			case !is:
				delete(s.kms.deadSince, p.id)
				s.kms.aliveAt[p.id] = now
			}
		}
	}
}

// judgeGivenUp judges that keys are given up: their plugins have been dead for long, or
// that had been so until what nodes reported of it last.
func (s *State) judgeGivenUp(before, now *v1alpha1.EncryptionPolicy) {
	for _, id := range now.Status.GivenUpKeys {
		if slices.Contains(before.Status.GivenUpKeys, id) {
			continue
		}
		elapsed := s.world.Engine().Elapsed()
		since, dead := s.kms.deadSince[uint64(id)]
		switch {
		case dead && elapsed-since < encryption.PluginPatience:
			s.breaks(deadPlugins, fmt.Errorf("key %d is given up, and its plugin is dead for %s", id, elapsed-since))
		case !dead && elapsed-s.kms.aliveAt[uint64(id)] > encryption.ReportAge+encryption.ConvergenceRetry:
			s.breaks(deadPlugins, fmt.Errorf("key %d is given up, and its plugin is well on some node", id))
		}
	}
}

// saysSo reports whether a plugin that behaves so does not say that it is well.
func saysSo(b kms.Behaviour) bool {
	return b.Down[kms.Status] != nil || b.Healthz != "" || b.Latency+b.LatencyOf[kms.Status] > kmshealth.StatusTimeout
}

// deadPluginsAreLeft is L8.
func (s *State) deadPluginsAreLeft() error {
	if s.policy.Spec.ManagementState != v1alpha1.Managed {
		return nil
	}
	keys := s.history.keys()
	lost := s.condition(v1alpha1.ObjectsLost)
	for _, n := range s.nodes {
		for _, k := range n.server.loaded().ReadKeys() {
			if k.Mode != state.KMS || !s.isDead(k.ID) || len(keys) > 0 && keys[0].ID == k.ID && s.wantsPlugin(&keys[0]) || s.anotherIsNotWell(k.ID) {
				continue
			}
			if !n.server.answers() || !n.ready {
				return fmt.Errorf("the API server on %s is not ready, and the plugin of key %d is dead", n.name, k.ID)
			}
			for _, gr := range s.resources {
				if writer(find(n.server.loaded(), gr)).Equal(k) {
					return fmt.Errorf("the API server on %s writes %s with key %d, whose plugin is dead", n.name, gr, k.ID)
				}
				if err := s.isNamed(gr, k, lost.Message); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// isNamed returns an error if there is an object that is encrypted with k and not named in
// a text.
func (s *State) isNamed(gr groupResource, k state.Key, text string) error {
	for _, how := range s.stored(gr) {
		if !how.by(k) {
			continue
		}
		for name, its := range s.inventories[gr].objects {
			if its == how && !strings.Contains(text, fmt.Sprintf("%s %s/%s", gr, name.namespace, name.name)) {
				return fmt.Errorf("%s, and nobody is told that it is lost", s.example(gr, how))
			}
		}
	}
	return nil
}

// wantsPlugin reports whether the policy wants the plugin of a key.
func (s *State) wantsPlugin(k *state.Key) bool {
	wanted, err := json.Marshal(s.policy.Spec.KMS)
	return err == nil && s.policy.Spec.KMS != nil && k.KMS != nil && pluginIdentity(k.KMS.Plugin) == pluginIdentity(string(wanted))
}

// anotherIsNotWell reports whether there is a plugin of another key that is not well on
// some node: then somebody has to decide what may be lost.
func (s *State) anotherIsNotWell(id uint64) bool {
	for _, n := range s.nodes {
		for _, p := range n.plugins {
			if p.id != id && !s.isGivenUp(p.id) && saysSo(s.behaviour(n, p)) {
				return true
			}
		}
	}
	return false
}

// isLost reports whether there are objects that nobody can read, as the plugin of their
// key is dead and the key given up.
func (s *State) isLost() bool {
	for _, gr := range s.resources {
		for _, how := range s.stored(gr) {
			if how.mode == state.KMS && s.isGivenUp(how.id) && s.isDead(how.id) {
				return true
			}
		}
	}
	return false
}

// policyIsMetIfItCan is L1: what is lost cannot be rewritten.
func (s *State) policyIsMetIfItCan() error {
	if s.isLost() {
		return nil
	}
	return s.policyIsMet()
}
