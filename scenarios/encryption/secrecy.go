package encryption

import (
	"fmt"
	"io"
	"slices"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// learnSecret makes known what must not be shown.
func (s *State) learnSecret(name string, raw []byte) {
	if !slices.Contains(s.secrets, name) && len(raw) >= 16 {
		s.secrets = append(s.secrets, name)
		s.leaks.Add(name, raw)
	}
}

// learnKey notes what an id stands for, when it is first seen, and what must not be
// shown of it.
func (s *State) learnKey(secret *corev1.Secret) {
	k, err := keysecret.Decode(secret)
	if err != nil {
		return
	}
	before := s.history.identity[k.ID]
	switch {
	case !before.Exists(), s.history.writer != controllersUser, s.policy.Status.HighestKeyID < int64(k.ID):
		// Until the policy remembers the id, no configuration may have the key.
		s.history.identity[k.ID] = k
	case !before.Equal(k), before.Mode == state.KMS && k.KMS != nil && pluginIdentity(before.KMS.Plugin) != pluginIdentity(k.KMS.Plugin):
		s.breaks(idsUnique, fmt.Errorf("key %d becomes another one", k.ID))
	}
	if k.Mode == state.AESCBC || k.Mode == state.AESGCM {
		s.learnSecret(fmt.Sprintf("key %d of %s", k.ID, secret.UID), k.Material.Reveal())
	}
}

// watchSecrecy has everything read that people can read of a run, as it is made: the whole
// trace, and whatever is written of objects that are no Secrets.
func (s *State) watchSecrecy() error {
	s.world.Cluster.OnRecord(leaks.Records(&s.leaks, func(where, what string) {
		s.breaks(keysSecret, fmt.Errorf("%s shows a piece of %s", where, what))
	}))
	for _, resource := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("events"), corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("nodes"),
		coordinationv1.SchemeGroupVersion.WithResource("leases"),
		v1alpha1.GroupVersion.WithResource("encryptionpolicies"), v1alpha1.GroupVersion.WithResource("encryptionnodestates"),
	} {
		stream, err := s.observer.OpenWatch(background, &apiserver.Request{Verb: apiserver.WatchVerb, Resource: resource})
		if err != nil {
			return fmt.Errorf("watch %s: %w", resource.Resource, err)
		}
		stream.OnReady(func() {
			for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
				if found := leaks.Object(&s.leaks, ev.Object); found != "" {
					s.breaks(keysSecret, fmt.Errorf("an object of %s shows a piece of %s", resource.Resource, found))
				}
			}
		})
	}
	return nil
}

// learnEntropy makes known what a leader makes keys of, before they are stored.
func (s *State) learnEntropy(from io.Reader) io.Reader {
	return leaks.Entropy(from, func(raw []byte) {
		s.learnSecret(fmt.Sprintf("what was drawn for a key as number %d", len(s.secrets)), raw)
	})
}

// shown looks for secrets in what people can read.
func (s *State) shown(where, text string) {
	if found := s.leaks.Find([]byte(text)); found != "" {
		s.breaks(keysSecret, fmt.Errorf("%s shows a piece of %s", where, found))
	}
}

// readable looks for secrets in objects that more people may read than Secrets.
func (s *State) readableObjects() error {
	return leaks.Objects(background, s.kubelets, &s.leaks,
		&corev1.EventList{}, &corev1.PodList{}, &v1alpha1.EncryptionPolicyList{}, &v1alpha1.EncryptionNodeStateList{})
}

// logOf is the process's log with a reader in between who looks for secrets.
func (s *State) logOf(env *cluster.Env) logr.Logger {
	return leaks.Log(env.Log, func(line []byte) { s.shown(env.Process+"'s log", string(line)) })
}
