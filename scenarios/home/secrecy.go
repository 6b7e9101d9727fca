package home

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// learnGrant makes known what must not be shown of a grant. Of a token it is the
// signature that nobody else can make; it is in base64 already.
func (s *State) learnGrant(token string) {
	if at := strings.LastIndexByte(token, '.'); at >= 0 {
		s.leaks.AddText("grant", token[at+1:])
	}
}

// logOf is the process's log with a reader in between who looks for tokens.
func (s *State) logOf(env *cluster.Env) logr.Logger {
	return leaks.Log(env.Log, func(line []byte) {
		if found := s.leaks.Find(line); found != "" {
			s.breaks(tokensStaySecret, fmt.Errorf("%s logs a piece of the %s", env.Process, found))
		}
	})
}

// readable looks for tokens in objects that more people may read than the Pod.
func (s *State) readable() error {
	return leaks.Objects(context.Background(), s.world.Admin(), &s.leaks,
		&corev1.PodList{}, &corev1.EventList{}, &resourcev1.ResourceClaimList{})
}
