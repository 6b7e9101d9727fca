package cloak

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// learn makes a value known that nobody may see.
func (s *State) learn(name ValueName) []byte {
	value := name.value()
	if s.values[name] == nil {
		s.values[name] = value
		if len(value) >= 8 {
			s.leaks.Add("value "+string(name), value)
		}
	}
	return value
}

// watchSecrecy has the whole trace read as it is made.
func (s *State) watchSecrecy() {
	s.world.Cluster.OnRecord(leaks.Records(&s.leaks, func(where, what string) {
		s.breaks(valuesStayHidden, fmt.Errorf("%s shows a piece of %s", where, what))
	}))
}

// logOf is the process's log with a reader in between who looks for values.
func (s *State) logOf(env *cluster.Env) logr.Logger {
	return leaks.Log(env.Log, func(line []byte) {
		if found := s.leaks.Find(line); found != "" {
			s.breaks(valuesStayHidden, fmt.Errorf("%s logs %s", env.Process, found))
		}
	})
}

// readable looks for values in all objects but the Secrets that they are of.
func (s *State) readable() error {
	ctx := context.Background()
	if err := leaks.Objects(ctx, s.world.Admin(), &s.leaks, &corev1.PodList{}, &corev1.EventList{}, &corev1.ConfigMapList{}); err != nil {
		return err
	}
	var shadows corev1.SecretList
	if err := s.world.Admin().List(ctx, &shadows, client.MatchingLabels{cloak.LabelManaged: "true"}); err != nil {
		return err
	}
	for i := range shadows.Items {
		data := shadows.Items[i].Data
		for _, key := range slices.Sorted(maps.Keys(data)) {
			if found := s.leaks.Find(data[key]); found != "" {
				return fmt.Errorf("key %s of shadow %s holds %s", key, shadows.Items[i].Name, found)
			}
		}
	}
	return nil
}
