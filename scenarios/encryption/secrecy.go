package encryption

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
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

// shown looks for secrets in what people can read.
func (s *State) shown(where, text string) {
	if found := s.leaks.Find([]byte(text)); found != "" {
		s.breaks(keysSecret, fmt.Errorf("%s shows a piece of %s", where, found))
	}
}

// readable looks for secrets in objects that more people may read than Secrets.
func (s *State) readableObjects() error {
	for _, list := range []client.ObjectList{&corev1.EventList{}, &corev1.PodList{}, &v1alpha1.EncryptionPolicyList{}, &v1alpha1.EncryptionNodeStateList{}} {
		if err := s.kubelets.List(background, list); err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("encode objects: %w", err)
		}
		if found := s.leaks.Find(text); found != "" {
			return fmt.Errorf("an object in a %T shows a piece of %s", list, found)
		}
	}
	return nil
}

// logOf is the process's log with a reader in between who looks for secrets.
func (s *State) logOf(env *cluster.Env) logr.Logger {
	return logr.New(readingSink{env.Log.GetSink(), s, env.Process})
}

// readingSink passes on what it has read.
type readingSink struct {
	logr.LogSink
	state   *State
	process string
}

// Info implements logr.LogSink.
func (r readingSink) Info(level int, msg string, kv ...any) {
	r.read(msg, nil, kv)
	r.LogSink.Info(level, msg, kv...)
}

// Error implements logr.LogSink.
func (r readingSink) Error(err error, msg string, kv ...any) {
	r.read(msg, err, kv)
	r.LogSink.Error(err, msg, kv...)
}

// WithValues implements logr.LogSink.
func (r readingSink) WithValues(kv ...any) logr.LogSink {
	r.read("", nil, kv)
	r.LogSink = r.LogSink.WithValues(kv...)
	return r
}

// WithName implements logr.LogSink.
func (r readingSink) WithName(name string) logr.LogSink {
	r.LogSink = r.LogSink.WithName(name)
	return r
}

// read looks at a line as every printer might print it.
func (r readingSink) read(msg string, err error, kv []any) {
	line := fmt.Appendf(nil, "%s %v %v %+v", msg, err, kv, kv)
	if encoded, e := json.Marshal(kv); e == nil {
		line = append(line, encoded...)
	}
	r.state.shown(r.process+"'s log", string(line))
}
