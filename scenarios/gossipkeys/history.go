package gossipkeys

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// version is one state that the Secret has had, as the store saw it.
type version struct {
	at      time.Duration
	exists  bool
	data    []byte          // of the entry that holds the keys
	keys    gossipkeys.Keys // nil if the data does not read as keys
	writer  string          // user who made it; empty for the operator
	lineage string          // UID
}

// history is everything that the Secret has been, in order. The first version
// is its absence.
type history struct {
	versions []version
	writer   string // of the write under way
}

func (h *history) last() *version { return &h.versions[len(h.versions)-1] }

// stored reports whether the Secret has ever held this very list.
func (h *history) stored(keys gossipkeys.Keys) bool {
	return slices.ContainsFunc(h.versions, func(v version) bool { return v.keys != nil && v.keys.Equal(keys) })
}

// since reports whether the Secret has held this very list at t or later.
func (h *history) since(t time.Duration, keys gossipkeys.Keys) bool {
	for i, v := range h.versions {
		last := i == len(h.versions)-1
		if v.keys != nil && v.keys.Equal(keys) && (last || h.versions[i+1].at >= t) {
			return true
		}
	}
	return false
}

// record begins to follow the Secret, through an API server of its own that
// nobody else uses and that never lags.
func (s *State) record() error {
	store := s.world.Cluster.Store()
	s.history.versions = []version{{}}
	store.Hook(admission.Hook{
		Name: "observer.gossipkeys.seedbed.dev",
		Match: admission.Match{
			Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete},
			Groups:     []string{""}, Versions: []string{"*"}, Resources: []string{"secrets"},
		},
		Validate: func(r *admission.Review) admission.Answer {
			s.history.writer = ""
			if r.User != nil {
				s.history.writer = r.User.Name
			}
			return admission.Answer{}
		},
	})
	stream, err := apiserver.NewServer(store, "observer").OpenWatch(context.Background(), &apiserver.Request{
		Verb: apiserver.WatchVerb, Resource: corev1.SchemeGroupVersion.WithResource("secrets"),
		Namespace: Namespace, FieldSelector: "metadata.name=" + gossipkeys.SecretName,
	})
	if err != nil {
		return fmt.Errorf("watch the Secret: %w", err)
	}
	stream.OnReady(func() { s.drain(stream) })
	return nil
}

func (s *State) drain(stream apiserver.Stream) {
	for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
		secret, isSecret := ev.Object.(*corev1.Secret)
		if !isSecret {
			continue
		}
		v := version{at: s.world.Engine().Elapsed(), writer: s.history.writer, lineage: string(secret.UID)}
		if ev.Type != watch.Deleted {
			v.exists = true
			v.data = secret.Data[gossipkeys.DataKey]
			v.keys = read(v.data)
		}
		s.judgeDrop(s.history.last(), &v)
		s.history.versions = append(s.history.versions, v)
	}
	s.world.Engine().Touch()
}
