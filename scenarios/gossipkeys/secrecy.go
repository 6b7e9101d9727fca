package gossipkeys

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
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
	return leaks.Log(env.Log, func(line []byte) {
		if leak := s.ledger.leaks(line); leak != nil {
			s.breaks("keys-stay-secret", fmt.Errorf("%s logs %w", env.Process, leak))
		}
	})
}

// readable looks for keys in objects that more people may read than the Secret.
func (s *State) readable() error {
	return leaks.Objects(context.Background(), s.world.Admin(), &s.ledger.index,
		&corev1.NodeList{}, &corev1.EventList{}, &corev1.ConfigMapList{})
}
