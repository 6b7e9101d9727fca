package nodeagent

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
)

// fallsBack reports whether the latest revision is one that nodes make.
func (s *sight) fallsBack() bool {
	f := s.policy.Status.Fallback
	return f != nil && f.Revision == s.policy.Status.LatestRevision
}

// fallback makes the latest revision of the one before, if nodes are to make it: of its
// Secret, or of the copy on the disk if that cannot be read. It is nil if there is neither;
// then another node has to begin.
func (a *Agent) fallback(ctx context.Context, s *sight) *corev1.Secret {
	if !s.fallsBack() {
		return nil
	}
	f := s.policy.Status.Fallback
	of, name := &corev1.Secret{}, client.ObjectKey{Namespace: a.cfg.ConfigNamespace, Name: config.RevisionName(f.Of)}
	err := a.cfg.Live.Get(ctx, name, of)
	if err != nil { // an API server can always read what it has encrypted itself
		of = &corev1.Secret{}
		err = a.cfg.Local.Get(ctx, name, of)
	}
	if err != nil {
		data, copyErr := a.readCopy(ctx, f.Of)
		if copyErr != nil || data == nil {
			a.cfg.Log.Info("There is nothing to make the revision of", "revision", f.Revision, "of", f.Of, "reason", err.Error())
			return nil
		}
		of = &corev1.Secret{Data: data}
		of.Namespace, of.Name = name.Namespace, name.Name
	}
	var without []uint64
	for _, id := range f.WithoutKeys {
		without = append(without, uint64(id))
	}
	made, err := config.FallBack(of, f.Revision, without)
	if err != nil {
		a.cfg.Log.Error(err, "The revision cannot be made", "revision", f.Revision)
		return nil
	}
	return made
}
