package gossipkeys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// leaks says which key a text gives away, if any.
func (l *ledger) leaks(text []byte) error {
	if piece := l.index.Find(text); piece != "" {
		return fmt.Errorf("a piece of the %s", piece)
	}
	return nil
}

// logOf is the process's log with a reader in between who looks for keys.
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
	line := fmt.Appendf(nil, "%s %v %v %+v %s %x", msg, err, kv, kv, kv, kv)
	if encoded, e := json.Marshal(kv); e == nil {
		line = append(line, encoded...)
	}
	if leak := r.state.ledger.leaks(line); leak != nil {
		r.state.breaks("keys-stay-secret", fmt.Errorf("%s logs %w", r.process, leak))
	}
}

// readable looks for keys in objects that more people may read than the Secret.
func (s *State) readable() error {
	var nodes corev1.NodeList
	var events corev1.EventList
	var maps corev1.ConfigMapList
	for _, list := range []client.ObjectList{&nodes, &events, &maps} {
		if err := s.world.Admin().List(context.Background(), list); err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("encode objects: %w", err)
		}
		if leak := s.ledger.leaks(text); leak != nil {
			return errors.Join(errors.New("an object that is no Secret holds key material"), leak)
		}
	}
	return nil
}
