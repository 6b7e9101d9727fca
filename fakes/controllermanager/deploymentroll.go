package controllermanager

import (
	"context"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// roll makes one step of a rolling update: more new pods if there is room, else fewer
// old ones if enough are available.
func (r *rollout) roll(ctx context.Context) (time.Duration, error) {
	if err := r.syncRevision(ctx, true); err != nil {
		return 0, err
	}
	before := r.snapshot()
	stepped, err := r.growNew(ctx)
	if err != nil {
		return 0, err
	}
	if !stepped {
		if stepped = r.shrinkOld(ctx); !stepped && complete(r.d, &r.d.Status) {
			if err := r.cleanUp(ctx); err != nil {
				return 0, err
			}
		}
	}
	return before.progress(ctx)
}

// snapshot is the rollout before a step, of which the status is made.
func (r *rollout) snapshot() *rollout {
	return &rollout{deployments: r.deployments, d: r.d, newest: r.newest, old: slices.Clone(r.old)}
}

func (r *rollout) growNew(ctx context.Context) (bool, error) {
	size := *r.d.Spec.Replicas
	if wanted(r.newest) > size {
		return r.resize(ctx, r.newest, size, false)
	}
	return r.resize(ctx, r.newest, r.wantedOfNew(r.newest), false)
}

// shrinkOld takes pods from the old ReplicaSets: first those that do not work, which
// costs no availability, then as many as may be missing. A write that fails ends the
// step; the next look goes on.
func (r *rollout) shrinkOld(ctx context.Context) bool {
	if total(r.old, wanted) == 0 {
		return false
	}
	least := *r.d.Spec.Replicas - maxUnavailable(r.d)
	surplus := total(r.allSets(), wanted) - least - (wanted(r.newest) - isAvailable(r.newest))
	if surplus <= 0 {
		return false
	}
	working := isAvailable(r.newest)
	for _, rs := range r.old {
		if wanted(rs) > 0 {
			working += isAvailable(rs)
		}
	}
	broken, err := r.shrink(ctx, surplus, func(rs *appsv1.ReplicaSet) int32 { return wanted(rs) - isAvailable(rs) })
	if err != nil {
		return false
	}
	rest, err := r.shrink(ctx, working-least, wanted)
	return err == nil && broken+rest > 0
}

// shrink takes at most n pods from the old ReplicaSets, the oldest first, from each at
// most what of says.
func (r *rollout) shrink(ctx context.Context, n int32, of func(*appsv1.ReplicaSet) int32) (int32, error) {
	var taken int32
	slices.SortFunc(r.old, byAge)
	for _, rs := range slices.Clone(r.old) {
		less := min(n-taken, of(rs), wanted(rs))
		if less <= 0 {
			continue
		}
		if _, err := r.resize(ctx, rs, wanted(rs)-less, false); err != nil {
			return taken, err
		}
		taken += less
	}
	return taken, nil
}

// recreate makes one step of a rollout that has no old pod run beside a new one.
func (r *rollout) recreate(ctx context.Context) (time.Duration, error) {
	if err := r.syncRevision(ctx, false); err != nil {
		return 0, err
	}
	before := r.snapshot()
	shrunk := false
	for _, rs := range slices.Clone(r.old) {
		scaled, err := r.resize(ctx, rs, 0, false)
		if err != nil {
			return 0, err
		}
		shrunk = shrunk || scaled
	}
	if shrunk || r.oldPodsRun() {
		return before.progress(ctx)
	}
	if r.newest == nil {
		if err := r.syncRevision(ctx, true); err != nil {
			return 0, err
		}
	}
	before = r.snapshot()
	if _, err := r.resize(ctx, r.newest, *r.d.Spec.Replicas, false); err != nil {
		return 0, err
	}
	if complete(r.d, &r.d.Status) {
		if err := r.cleanUp(ctx); err != nil {
			return 0, err
		}
	}
	return before.progress(ctx)
}

// oldPodsRun reports whether a pod of an old ReplicaSet has not ended, or may not have.
func (r *rollout) oldPodsRun() bool {
	if total(r.old, existing) > 0 {
		return true
	}
	return slices.ContainsFunc(cachedList[*corev1.Pod](r.m, podsGVR, r.d.Namespace), func(p *corev1.Pod) bool {
		return !finished(p) && slices.ContainsFunc(r.old, func(rs *appsv1.ReplicaSet) bool { return metav1.IsControlledBy(p, rs) })
	})
}

// cleanUp deletes the oldest of the old ReplicaSets that are more than the Deployment
// wants to keep. One that has pods stays, and counts.
func (r *rollout) cleanUp(ctx context.Context) error {
	limit := r.d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == math.MaxInt32 {
		return nil
	}
	sets := slices.DeleteFunc(slices.Clone(r.old), func(rs *appsv1.ReplicaSet) bool { return rs.DeletionTimestamp != nil })
	slices.SortFunc(sets, byRevision)
	for i := range len(sets) - int(*limit) {
		rs := sets[i]
		if existing(rs) != 0 || wanted(rs) != 0 || rs.Generation > rs.Status.ObservedGeneration {
			continue
		}
		if err := r.m.delete(ctx, replicaSetsGVR, rs.Namespace, rs.Name, nil); ignoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
