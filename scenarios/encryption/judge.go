package encryption

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// judgeManaged judges a managed configuration that controllers write.
func (s *State) judgeManaged(before, now *managedVersion) {
	s.look()
	if now.problem != nil {
		s.breaks(configsValid, fmt.Errorf("the controllers write a configuration that they cannot read themselves: %w", now.problem))
		return
	}
	if err := validConfig(now.secret); err != nil {
		s.breaks(configsValid, err)
	}
	if before.secret != nil && before.epoch > now.epoch {
		s.breaks(staleWrites, fmt.Errorf("a leader of epoch %d writes over the configuration of epoch %d", now.epoch, before.epoch))
	}
	for _, k := range now.config.ReadKeys() {
		if int64(k.ID) > s.policy.Status.HighestKeyID { // if its Secret were deleted now, the id would be given to another
			s.breaks(idsUnique, fmt.Errorf("the configuration has %s, and the highest id that is remembered is %d", keyName(k), s.policy.Status.HighestKeyID))
		}
	}
	s.judgeStep(now)
}

// judgeStep compares a configuration with those that API servers have loaded.
func (s *State) judgeStep(now *managedVersion) {
	for _, n := range s.nodes {
		if !n.server.answers() {
			continue
		}
		for i := range now.config {
			next := &now.config[i]
			have := find(n.server.loaded(), next.GroupResource)
			if err := judgeResource(have, next); err != nil {
				s.breaks(oneStep, fmt.Errorf("%s runs with %s for %s, and what is to follow is %s: %w", n.name, order(have), next.GroupResource, order(next), err))
			}
			s.judgeDrops(n, have, next)
		}
	}
}

var (
	errTwoSteps  = errors.New("more than one thing changes")
	errNotReader = errors.New("the key that is to write is not read yet")
)

// judgeResource judges the step from one configuration of a resource to the next.
func judgeResource(have, next *state.Resource) error {
	grows := slices.ContainsFunc(next.Read, func(k state.Key) bool { return !contains(have.Read, k) })
	shrinks := slices.ContainsFunc(have.Read, func(k state.Key) bool { return !contains(next.Read, k) })
	writes := !sameWriter(writer(next), writer(have))
	changes := 0
	for _, changed := range []bool{grows, shrinks, writes} {
		if changed {
			changes++
		}
	}
	switch {
	case changes > 1:
		return errTwoSteps
	case writes && writer(next).Exists() && !contains(have.Read, writer(next)):
		return errNotReader
	default:
		return nil
	}
}

// judgeDrops judges the end of keys in a configuration.
func (s *State) judgeDrops(n *node, have, next *state.Resource) {
	for _, k := range have.Read {
		if contains(next.Read, k) || k.Mode == state.Identity {
			continue
		}
		if have.HasWriteKey() && have.Write.Equal(k) {
			s.breaks(dropped, fmt.Errorf("%s is to be read with %s no longer, which %s writes with", next.GroupResource, keyName(k), n.name))
		}
		for _, o := range s.stored(next.GroupResource) {
			if o.by(k) {
				s.breaks(dropped, fmt.Errorf("%s is to be read with %s no longer, and %s is encrypted with it", next.GroupResource, keyName(k), s.example(next.GroupResource, o)))
				break
			}
		}
	}
}

// judgeRevision judges a revision that controllers cut.
func (s *State) judgeRevision(number int64, config state.State, err error) {
	switch {
	case err != nil:
		s.breaks(configsValid, fmt.Errorf("revision %d cannot be read: %w", number, err))
	case len(config) == 0 && len(s.history.revisions) > 0:
		s.breaks(configStays, fmt.Errorf("revision %d has no configuration, and those before had one", number))
	}
}

// judgeNewKey judges a key that controllers make.
func (s *State) judgeNewKey(now *storedKey) {
	if now.err != nil {
		s.breaks(idsUnique, fmt.Errorf("the controllers make a key that they cannot read themselves: %w", now.err))
		return
	}
	s.judgeApproval(now)
	s.judgeRotation(now.key)
	id := now.key.ID
	if s.policy.Status.HighestKeyID >= int64(id) {
		s.breaks(idsUnique, fmt.Errorf("key %d is made a second time", id))
	}
	keys := s.history.keys()
	if s.lostAfter(keys) {
		return // another key is made whatever there is
	}
	// The cycle of a key that is given up has no end; see judgeGivenUp.
	if len(keys) > 0 && !s.history.edited[keys[0].ID] && !s.cycleIsOver(&keys[0]) && !s.isGivenUp(keys[0].ID) {
		s.breaks(oneCycle, fmt.Errorf("key %d is made before everything was rewritten with key %d", id, keys[0].ID))
	}
	if backed := s.backedReaders(); backed > 2 {
		s.breaks(oneCycle, fmt.Errorf("key %d is made while %d keys are read", id, backed))
	}
}

// staleFor is how long a cache may take to show a change.
const staleFor = time.Minute

// cycleIsOver reports whether everything is rewritten with a key, be it by what the
// policy asked for until recently: that may be all that the controllers have seen.
func (s *State) cycleIsOver(k *state.Key) bool {
	all := func(resources []v1alpha1.Resource) bool {
		return !slices.ContainsFunc(resources, func(r v1alpha1.Resource) bool { return !k.Migrated.Has(groupResource(r)) })
	}
	return all(s.policy.Spec.Resources) ||
		len(s.policy.chosenBefore) > 0 && s.world.Engine().Elapsed()-s.policy.chosen < staleFor && all(s.policy.chosenBefore)
}

// isGivenUp reports whether the key of that id is given up, as its plugin is dead.
func (s *State) isGivenUp(id uint64) bool {
	return slices.Contains(s.policy.Status.GivenUpKeys, int64(id))
}

// lostAfter reports whether an API server reads with a key that is newer than all that
// there are: its Secret is gone, or holds no key any more.
func (s *State) lostAfter(keys []state.Key) bool {
	for _, n := range s.nodes {
		if !n.server.answers() {
			continue
		}
		for i := range n.server.loaded() {
			r := &n.server.loaded()[i]
			if len(r.Read) > 0 && !contains(keys, r.Read[0]) && (len(keys) == 0 || r.Read[0].ID >= keys[0].ID) {
				return true
			}
		}
	}
	return false
}

// lastResources are the resources of the managed configuration that stay in it.
func (s *State) lastResources() []schema.GroupResource {
	var stay []schema.GroupResource
	for _, gr := range s.history.last().config.Resources() {
		if slices.Contains(s.policy.Spec.Resources, v1alpha1.Resource(gr)) {
			stay = append(stay, gr)
		}
	}
	return stay
}

// backedReaders is how many keys that there are are read with by some API server, but
// for those that are given up.
func (s *State) backedReaders() int {
	most := 0
	for _, n := range s.nodes {
		if !n.server.answers() {
			continue
		}
		for i := range n.server.loaded() {
			count := 0
			for _, k := range n.server.loaded()[i].Read {
				if contains(s.history.keys(), k) && !s.isGivenUp(k.ID) {
					count++
				}
			}
			most = max(most, count)
		}
	}
	return most
}

// judgeDeletion judges the end of a key's Secret.
func (s *State) judgeDeletion(gone *storedKey) {
	if gone.err == nil {
		if user := s.user(gone.key); user != "" {
			s.breaks(keysKept, fmt.Errorf("the Secret of %s is deleted, which %s has", keyName(gone.key), user))
		}
	}
	unused := 0
	id, _ := state.ParseID(gone.secret.Name)
	for _, k := range s.history.all() {
		theirs, _ := state.ParseID(k.secret.Name)
		if k != gone && theirs > id && (k.err != nil || s.user(k.key) == "") {
			unused++
		}
	}
	if unused < encryption.UnusedKeysKept {
		s.breaks(keysKept, fmt.Errorf("the Secret %s is deleted, and only %d newer ones that nothing uses are left", gone.secret.Name, unused))
	}
}

// user names a configuration that has the key; empty if none has.
func (s *State) user(k state.Key) string {
	if contains(s.history.last().config.ReadKeys(), k) {
		return "the managed configuration"
	}
	for _, number := range slices.Sorted(maps.Keys(s.history.revisions)) {
		if contains(s.history.revisions[number].ReadKeys(), k) {
			return fmt.Sprintf("revision %d", number)
		}
	}
	for _, n := range s.nodes {
		if n.server.answers() && contains(n.server.loaded().ReadKeys(), k) {
			return "the API server on " + n.name
		}
	}
	return ""
}

// seenRun is a migration that the controllers have asked for.
type seenRun struct {
	key   string
	began time.Duration
}

// runSeen notes that there is a run.
func (s *State) runSeen(gr schema.GroupResource, key string, _ bool) {
	if r := s.runs[gr]; r == nil || r.key != key {
		s.runs[gr] = &seenRun{key, s.world.Engine().Elapsed()}
	}
}

// runEnded notes that there is no run.
func (s *State) runEnded(gr schema.GroupResource) { delete(s.runs, gr) }

// uniform is since when all API servers write a resource with one key.
type uniform struct {
	key   state.Key // the zero Key if objects are not encrypted
	since time.Duration
	all   bool
}

// serversChanged runs when an API server has started, loaded something, or ended.
func (s *State) serversChanged() {
	s.disturbed()
	s.differed = s.world.Engine().Elapsed()
	for _, gr := range s.resources {
		now := s.writtenBy(gr)
		before := s.uniform[gr]
		if now.all != before.all || now.all && !sameWriter(now.key, before.key) {
			now.since = s.world.Engine().Elapsed()
			s.uniform[gr] = now
		}
	}
	s.changed()
}

// writer is the key that objects are encrypted with; the zero Key if they are not.
func writer(r *state.Resource) state.Key {
	if !r.HasWriteKey() || r.Write.Mode == state.Identity {
		return state.Key{}
	}
	return *r.Write
}

func sameWriter(a, b state.Key) bool {
	return a.Equal(b) || !a.Exists() && !b.Exists()
}

// writtenBy is the key that all API servers that answer write a resource with.
func (s *State) writtenBy(gr schema.GroupResource) uniform {
	var u uniform
	for _, n := range s.nodes {
		if !n.server.answers() {
			continue
		}
		k := writer(find(n.server.loaded(), gr))
		if u.all && !sameWriter(u.key, k) {
			return uniform{}
		}
		u.key, u.all = k, true
	}
	return u
}

// plain is k as objects show it: identity does not encrypt.
func plain(k state.Key) state.Key {
	if k.Mode == state.Identity {
		return state.Key{}
	}
	return k
}

// judgeNotes judges what controllers note in a key's Secret.
func (s *State) judgeNotes(before, now *storedKey) {
	if now.err != nil || before.err != nil || !now.key.Equal(before.key) {
		return
	}
	s.judgeUpdate(before, now)
	for _, gr := range now.key.Migrated.Resources {
		if before.key.Migrated.Has(gr) {
			continue
		}
		s.judgeRun(gr, now.key)
		for _, o := range s.stored(gr) {
			if !o.writtenWith(now.key) {
				s.breaks(migratedMeans, fmt.Errorf("%s is noted to be rewritten with %s, and %s is %s", gr, keyName(now.key), s.example(gr, o), o.how()))
				break
			}
		}
	}
}

// judgeRun judges whether the run that made a note may count.
func (s *State) judgeRun(gr schema.GroupResource, k state.Key) {
	r, u := s.runs[gr], s.uniform[gr]
	switch {
	case r == nil || r.key != fmt.Sprint(k.ID) && !strings.HasPrefix(r.key, fmt.Sprint(k.ID, "-")): // with the id of the plugin's own key
		s.breaks(runsCount, fmt.Errorf("%s is noted to be rewritten with %s, and there was no run for that", gr, keyName(k)))
	case !u.all || !sameWriter(u.key, plain(k)):
		s.breaks(runsCount, fmt.Errorf("%s is noted to be rewritten with %s, and not all API servers write with it", gr, keyName(k)))
	case u.since > r.began:
		s.breaks(runsCount, fmt.Errorf("%s is noted to be rewritten with %s by a run that began %s before all API servers wrote with it", gr, keyName(k), u.since-r.began))
	}
}
