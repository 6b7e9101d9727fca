package home

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// logOf is the process's log with a reader in between who looks for tokens.
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
	line := fmt.Appendf(nil, "%s %v %+v %s", msg, err, kv, kv)
	if encoded, e := json.Marshal(kv); e == nil {
		line = append(line, encoded...)
	}
	if leak := r.state.leaks.find(line); leak != nil {
		r.state.breaks(tokensStaySecret, fmt.Errorf("%s logs %w", r.process, leak))
	}
}

// readable looks for tokens in objects that more people may read than the Pod.
func (s *State) readable() error {
	var pods corev1.PodList
	var events corev1.EventList
	var claims resourcev1.ResourceClaimList
	for _, list := range []client.ObjectList{&pods, &events, &claims} {
		if err := s.world.Admin().List(context.Background(), list); err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("encode objects: %w", err)
		}
		if leak := s.leaks.find(text); leak != nil {
			return fmt.Errorf("an object in the API holds %w", leak)
		}
	}
	return nil
}
