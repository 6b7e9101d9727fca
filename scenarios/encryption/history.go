package encryption

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// controllersUser makes the requests of the controllers.
const controllersUser = "system:serviceaccount:seedbed-encryption:controllers"

// managedVersion is one state that the managed configuration has had.
type managedVersion struct {
	at      time.Duration
	secret  *corev1.Secret // nil where there was none
	config  state.State    // nil where it could not be read
	writer  string
	epoch   int64
	problem error // why it could not be read
}

// storedKey is a key Secret that there is.
type storedKey struct {
	secret *corev1.Secret
	key    state.Key
	err    error // why it is no key
}

// history is what has become of the objects of the system.
type history struct {
	writer  string // of the write under way
	manager string // its field manager

	managed   []managedVersion // the first is the absence at the start
	revisions map[int64]state.State
	names     map[string]*storedKey // key Secrets by name
	identity  map[uint64]state.Key  // of all keys that ever were, as they were first
	edited    map[uint64]bool       // keys that people have changed by hand
	deleted   int                   // key Secrets that controllers deleted
}

func (h *history) last() *managedVersion { return &h.managed[len(h.managed)-1] }

// all are the key Secrets that there are, the newest first.
func (h *history) all() []*storedKey {
	all := slices.Collect(maps.Values(h.names)) // sorted below
	slices.SortFunc(all, func(a, b *storedKey) int {
		x, _ := state.ParseID(a.secret.Name)
		y, _ := state.ParseID(b.secret.Name)
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(a.secret.Name, b.secret.Name))
	})
	return all
}

// keys are the valid keys that there are, the newest first.
func (h *history) keys() []state.Key {
	var keys []state.Key
	for _, s := range h.all() {
		if s.err == nil {
			keys = append(keys, s.key)
		}
	}
	return state.NewestFirst(keys)
}

func isKey(s *corev1.Secret) bool { return s.Labels[keysecret.Component] == Component }

// record begins to follow the Secrets of the system and the policy, through an API
// server of its own that nobody else uses and that never lags.
func (s *State) record() error {
	s.history = history{
		managed: []managedVersion{{}}, revisions: map[int64]state.State{}, names: map[string]*storedKey{},
		identity: map[uint64]state.Key{}, edited: map[uint64]bool{},
	}
	s.world.Cluster.Store().Hook(admission.Hook{
		Name: "observer.encryption.seedbed.dev",
		Match: admission.Match{
			Operations: []admission.Operation{"*"}, Groups: []string{"*"}, Versions: []string{"*"},
			Resources:  []string{"secrets", "encryptionpolicies", "encryptionpolicies/status", "pods"},
			Namespaces: labels.SelectorFromSet(labels.Set{corev1.LabelMetadataName: Namespace}), // hooks cost, and users write much
		},
		Validate: func(r *admission.Review) admission.Answer {
			s.history.writer, s.history.manager = "", managerOf(r)
			if r.User != nil {
				s.history.writer = r.User.Name
			}
			return admission.Answer{}
		},
	})
	secrets, err := s.observer.OpenWatch(context.Background(), &apiserver.Request{
		Verb: apiserver.WatchVerb, Resource: corev1.SchemeGroupVersion.WithResource("secrets"), Namespace: Namespace,
	})
	if err != nil {
		return fmt.Errorf("watch the Secrets of the system: %w", err)
	}
	secrets.OnReady(func() {
		for ev, ok := secrets.Next(); ok; ev, ok = secrets.Next() {
			if secret, isSecret := ev.Object.(*corev1.Secret); isSecret {
				s.secretChanged(secret, ev.Type != watch.Deleted)
			}
		}
		s.world.Engine().Touch()
	})
	pods, err := s.observer.OpenWatch(context.Background(), &apiserver.Request{
		Verb: apiserver.WatchVerb, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: Namespace,
	})
	if err != nil {
		return fmt.Errorf("watch the Pods of checks: %w", err)
	}
	pods.OnReady(func() {
		for ev, ok := pods.Next(); ok; ev, ok = pods.Next() {
			if pod, isPod := ev.Object.(*corev1.Pod); isPod && pod.Name == checkPod {
				s.checkPodChanged(pod, ev.Type != watch.Deleted)
			}
		}
	})
	return s.recordPolicy()
}

// secretChanged takes over what has become of a Secret.
func (s *State) secretChanged(secret *corev1.Secret, exists bool) {
	byController := s.history.writer == controllersUser
	switch {
	case !byController:
		s.disturbed()
	case !isKey(secret) || s.history.names[secret.Name] != nil || !exists: // a key may have become old
		s.judgeRest("Secret " + secret.Name)
	default:
		s.disturbed()
	}
	number, isRevision := config.ParseRevision(secret.Name)
	switch {
	case secret.Name == managedName:
		s.managedChanged(secret, exists)
	case isRevision:
		s.revisionChanged(number, secret, exists)
	case isKey(secret) || s.history.names[secret.Name] != nil:
		s.keyChanged(secret, exists, byController)
	}
}

func (s *State) managedChanged(secret *corev1.Secret, exists bool) {
	v := managedVersion{at: s.world.Engine().Elapsed(), writer: s.history.writer}
	if exists {
		v.secret = secret
		v.config, v.problem = config.Decode(secret)
		v.epoch, _ = strconv.ParseInt(secret.Annotations[encryption.EpochAnnotation], 10, 64)
		s.judgePlugins("the managed configuration", secret)
	}
	if v.writer == controllersUser && exists {
		s.judgeManaged(s.history.last(), &v)
	}
	s.history.managed = append(s.history.managed, v)
	s.changed()
	if exists {
		s.tell("config", "the managed configuration becomes %s", describe(v.config))
	}
}

func (s *State) revisionChanged(number int64, secret *corev1.Secret, exists bool) {
	if !exists {
		delete(s.history.revisions, number)
		return
	}
	parsed, err := config.Decode(secret)
	if s.history.writer == controllersUser {
		s.judgeRevision(number, parsed, err)
		s.judgePlugins(fmt.Sprintf("revision %d", number), secret)
	}
	s.history.revisions[number] = parsed
	s.numbers[config.FileHash(secret.Data[config.Configuration])] = number
	s.tell("revision", "revision %d is %s", number, describe(parsed))
}

func (s *State) keyChanged(secret *corev1.Secret, exists, byController bool) {
	before := s.history.names[secret.Name]
	if !exists {
		if byController && before != nil {
			s.judgeDeletion(before)
			s.history.deleted++
		}
		delete(s.history.names, secret.Name)
		s.changed()
		return
	}
	now := &storedKey{secret: secret}
	now.key, now.err = keysecret.Decode(secret)
	id, known := state.ParseID(secret.Name)
	if !byController && known {
		s.history.edited[id] = true
	}
	s.learnKey(secret)
	if byController {
		if before == nil {
			s.judgeNewKey(now)
		} else {
			s.judgeNotes(before, now)
		}
	}
	s.history.names[secret.Name] = now
	s.changed()
}

// describe writes a configuration for people, as in "secrets: 2,1,identity".
func describe(c state.State) string {
	if len(c) == 0 {
		return "empty"
	}
	parts := make([]string, len(c))
	for i := range c {
		parts[i] = c[i].String() + " " + order(&c[i])
	}
	return strings.Join(parts, "; ")
}

// order writes the keys of a resource: the one that writes, and those that read.
func order(r *state.Resource) string {
	write := "nothing"
	if r.HasWriteKey() {
		write = keyName(*r.Write)
	}
	var read []string
	for _, k := range r.Read {
		read = append(read, keyName(k))
	}
	return fmt.Sprintf("written with %s, read with %s", write, strings.Join(read, ", "))
}

func keyName(k state.Key) string { return fmt.Sprintf("%s key %d", k.Mode, k.ID) }

func contains(keys []state.Key, k state.Key) bool { return slices.ContainsFunc(keys, k.Equal) }

func find(s state.State, gr schema.GroupResource) *state.Resource {
	if r := s.Find(gr); r != nil {
		return r
	}
	return &state.Resource{GroupResource: gr}
}

// hasRevision reports whether a configuration is that of a revision that is there.
func (h *history) hasRevision(c state.State) bool {
	for _, r := range h.revisions {
		if c.Equal(r) {
			return true
		}
	}
	return false
}
