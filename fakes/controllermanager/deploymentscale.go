package controllermanager

import (
	"cmp"
	"context"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fences returns by how many pods a rollout may exceed the size of the Deployment, and
// by how many it may fall below.
func fences(d *appsv1.Deployment) (surge, unavailable int32) {
	if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || d.Spec.Strategy.RollingUpdate == nil {
		return 0, 0
	}
	how, size := d.Spec.Strategy.RollingUpdate, int(*d.Spec.Replicas)
	scaled := func(v *intstr.IntOrString, up bool) int32 {
		n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(v, intstr.FromInt32(0)), size, up)
		if err != nil {
			return 0 // validation lets no such value in
		}
		return int32(n)
	}
	surge, unavailable = scaled(how.MaxSurge, true), scaled(how.MaxUnavailable, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // rounding must not end the rollout
	}
	return surge, unavailable
}

func maxSurge(d *appsv1.Deployment) int32 {
	n, _ := fences(d)
	return n
}

func maxUnavailable(d *appsv1.Deployment) int32 {
	_, n := fences(d)
	return min(n, *d.Spec.Replicas)
}

// allSets returns the newest ReplicaSet, if there is one, after the old ones.
func (r *rollout) allSets() []*appsv1.ReplicaSet {
	if r.newest == nil {
		return slices.Clone(r.old)
	}
	return append(slices.Clone(r.old), r.newest)
}

// activeSets returns the ReplicaSets that ask for pods.
func (r *rollout) activeSets() []*appsv1.ReplicaSet {
	return slices.DeleteFunc(r.allSets(), func(rs *appsv1.ReplicaSet) bool { return *rs.Spec.Replicas == 0 })
}

// total adds up something of ReplicaSets.
func total(sets []*appsv1.ReplicaSet, of func(*appsv1.ReplicaSet) int32) (n int32) {
	for _, rs := range sets {
		n += of(rs)
	}
	return n
}

func wanted(rs *appsv1.ReplicaSet) int32      { return *rs.Spec.Replicas }
func existing(rs *appsv1.ReplicaSet) int32    { return rs.Status.Replicas }
func isAvailable(rs *appsv1.ReplicaSet) int32 { return rs.Status.AvailableReplicas }

// resize lets a ReplicaSet ask for n pods, and tells it how large the Deployment is.
// The sets of r are kept up to date. Unless it is always to be told, a ReplicaSet that
// has its size stays as it is.
func (r *rollout) resize(ctx context.Context, rs *appsv1.ReplicaSet, n int32, always bool) (bool, error) {
	was := *rs.Spec.Replicas
	if was == n && !always {
		return false, nil
	}
	next := rs.DeepCopy()
	*next.Spec.Replicas = n
	setCounts(next, r.d)
	if was == n && next.Annotations[desiredReplicasAnnotation] == rs.Annotations[desiredReplicasAnnotation] &&
		next.Annotations[maxReplicasAnnotation] == rs.Annotations[maxReplicasAnnotation] {
		return false, nil
	}
	place := &r.newest
	if i := slices.Index(r.old, rs); i >= 0 {
		place = &r.old[i]
	}
	if err := r.replace(ctx, place, next); err != nil || was == n {
		return false, err
	}
	direction := "up"
	if n < was {
		direction = "down"
	}
	r.events.normal(r.d, deploymentKind, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, rs.Name, was, n)
	return true, nil
}

// wantedOfNew returns how many pods the newest ReplicaSet may ask for now.
func (r *rollout) wantedOfNew(rs *appsv1.ReplicaSet) int32 {
	size := *r.d.Spec.Replicas
	if r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return size
	}
	room := size + maxSurge(r.d) - total(r.allSets(), wanted)
	return *rs.Spec.Replicas + max(0, min(room, size-*rs.Spec.Replicas))
}

// scale follows a new size of the Deployment outside of a rollout, or in the middle of
// one, where each ReplicaSet gets its share.
func (r *rollout) scale(ctx context.Context) error {
	if rs, only := r.onlyActive(); only {
		if rs == nil {
			return nil
		}
		_, err := r.resize(ctx, rs, *r.d.Spec.Replicas, false)
		return err
	}
	if r.saturated() {
		for _, rs := range r.activeSets() {
			if rs == r.newest {
				continue
			}
			if _, err := r.resize(ctx, rs, 0, false); err != nil {
				return err
			}
		}
		return nil
	}
	if r.d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return nil
	}
	return r.share(ctx)
}

// onlyActive returns the only ReplicaSet that asks for pods, or the newest if none
// does.
func (r *rollout) onlyActive() (rs *appsv1.ReplicaSet, only bool) {
	active := r.activeSets()
	switch {
	case len(active) > 1:
		return nil, false
	case len(active) == 1:
		return active[0], true
	case r.newest == nil && len(r.old) > 0:
		return slices.MaxFunc(r.old, byAge), true
	}
	return r.newest, true
}

// saturated reports whether all pods of the Deployment are of the newest ReplicaSet.
func (r *rollout) saturated() bool {
	if r.newest == nil {
		return false
	}
	n, ok := countIn(r.newest, desiredReplicasAnnotation)
	size := *r.d.Spec.Replicas
	return ok && n == size && *r.newest.Spec.Replicas == size && r.newest.Status.AvailableReplicas == size
}

// share distributes what a new size adds or takes away over the ReplicaSets, in
// proportion to their sizes, larger ones first. The largest gets what is left.
func (r *rollout) share(ctx context.Context) error {
	sets := r.activeSets()
	var allowed int32
	if *r.d.Spec.Replicas > 0 {
		allowed = *r.d.Spec.Replicas + maxSurge(r.d)
	}
	add := allowed - total(sets, wanted)
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		switch age := byAge(a, b); {
		case add > 0:
			return cmp.Or(cmp.Compare(wanted(b), wanted(a)), -age)
		case add < 0:
			return cmp.Or(cmp.Compare(wanted(b), wanted(a)), age)
		}
		return 0
	})
	sizes := make([]int32, len(sets))
	left := add
	for i, rs := range sets {
		part := r.part(rs)
		switch {
		case left == 0:
			part = 0
		case add > 0:
			part = min(part, left)
		default:
			part = max(part, left)
		}
		sizes[i] = wanted(rs) + part
		left -= part
	}
	sizes[0] = max(0, sizes[0]+left)
	for i, rs := range sets {
		if _, err := r.resize(ctx, rs, sizes[i], true); err != nil {
			return err
		}
	}
	return nil
}

// part is by how much a ReplicaSet would change to keep its share of the Deployment.
func (r *rollout) part(rs *appsv1.ReplicaSet) int32 {
	if *r.d.Spec.Replicas == 0 {
		return -wanted(rs)
	}
	before, ok := countIn(rs, maxReplicasAnnotation)
	if !ok || before == 0 {
		if before = r.d.Status.Replicas; before == 0 {
			return 0
		}
	}
	after := float64(wanted(rs)*(*r.d.Spec.Replicas+maxSurge(r.d))) / float64(before)
	return int32(math.Round(after)) - wanted(rs)
}
