package controllermanager

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/dump"
)

// Annotations by which the controller remembers.
const (
	revisionAnnotation        = "deployment.kubernetes.io/revision"
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
)

// notCopied are annotations that a ReplicaSet does not take over from its Deployment.
var notCopied = map[string]bool{
	corev1.LastAppliedConfigAnnotation: true, appsv1.DeprecatedRollbackTo: true,
	revisionAnnotation: true, revisionHistoryAnnotation: true, desiredReplicasAnnotation: true, maxReplicasAnnotation: true,
}

// historyLength is how many characters of old revisions a ReplicaSet remembers.
const historyLength = 2000

// byAge orders ReplicaSets, the oldest first.
func byAge(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// byRevision orders ReplicaSets, the lowest revision first.
func byRevision(a, b *appsv1.ReplicaSet) int {
	x, errX := revisionOf(a)
	y, errY := revisionOf(b)
	if errX != nil || errY != nil {
		return byAge(a, b)
	}
	return cmp.Or(cmp.Compare(x, y), byAge(a, b))
}

func revisionOf(rs *appsv1.ReplicaSet) (int64, error) {
	text, ok := rs.Annotations[revisionAnnotation]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// sort tells the ReplicaSet with the present template from the others: the oldest, if
// several have it.
func (r *rollout) sort() {
	slices.SortFunc(r.sets, byAge)
	r.newest, r.old = nil, nil
	for _, rs := range r.sets {
		if r.newest == nil && sameTemplate(&rs.Spec.Template, &r.d.Spec.Template) {
			r.newest = rs
			continue
		}
		r.old = append(r.old, rs)
	}
}

// sameTemplate compares templates but for the hash, which changes when types get new
// fields, and which a Deployment's has not.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	if !equality.Semantic.DeepEqual(a.Spec, b.Spec) {
		return false
	}
	x, y := a.ObjectMeta, b.ObjectMeta
	x.Labels, y.Labels = withoutHash(x.Labels), withoutHash(y.Labels)
	return equality.Semantic.DeepEqual(x, y)
}

func withoutHash(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	delete(out, appsv1.DefaultDeploymentUniqueLabelKey)
	return out
}

// templateHash is computed as the real controller does, so that ReplicaSets have the
// names that they have there.
func templateHash(t *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(dump.ForHash(*t)))
	if collisions != nil {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(uint32(*collisions))))
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// nextRevision is that of a ReplicaSet which is newer than all others.
func (r *rollout) nextRevision() int64 {
	var highest int64
	for _, rs := range r.old {
		if n, err := revisionOf(rs); err == nil {
			highest = max(highest, n)
		}
	}
	return highest + 1
}

// syncRevision gives the newest ReplicaSet its revision and the annotations of the
// Deployment, and the Deployment its revision. It creates the ReplicaSet if it is
// wanted and not there. It starts from what the cache has, also if an earlier part of
// the same look has written: then this one conflicts, and the next look goes on.
func (r *rollout) syncRevision(ctx context.Context, create bool) error {
	r.sort()
	revision := r.nextRevision()
	if r.newest == nil {
		if !create {
			return nil
		}
		return r.create(ctx, revision)
	}
	rs := r.newest.DeepCopy()
	if annotate(rs, r.d, revision) || rs.Spec.MinReadySeconds != r.d.Spec.MinReadySeconds {
		rs.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
		return r.replace(ctx, &r.newest, rs)
	}
	changed := r.setRevision(rs.Annotations[revisionAnnotation])
	if r.hasDeadline() && conditionOf(&r.d.Status, appsv1.DeploymentProgressing) == nil {
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", rs.Name))
		changed = true
	}
	if !changed {
		return nil
	}
	return r.write(ctx)
}

// replace writes a ReplicaSet and keeps what the API has made of it.
func (r *rollout) replace(ctx context.Context, place **appsv1.ReplicaSet, rs *appsv1.ReplicaSet) error {
	written, err := r.m.update(ctx, replicaSetsGVR, "", rs)
	if err != nil {
		return err
	}
	*place = written.(*appsv1.ReplicaSet)
	return nil
}

func (r *rollout) setRevision(revision string) (changed bool) {
	if r.d.Annotations[revisionAnnotation] == revision {
		return false
	}
	if r.d.Annotations == nil {
		r.d.Annotations = map[string]string{}
	}
	r.d.Annotations[revisionAnnotation] = revision
	return true
}

// annotate gives a ReplicaSet what the Deployment is annotated with, and its revision
// if that is higher than the one it has. It reports whether anything is new.
func annotate(rs *appsv1.ReplicaSet, d *appsv1.Deployment, revision int64) (changed bool) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	for k, v := range d.Annotations {
		if have, ok := rs.Annotations[k]; !notCopied[k] && (!ok || have != v) {
			rs.Annotations[k] = v
			changed = true
		}
	}
	was, had := rs.Annotations[revisionAnnotation]
	n, err := strconv.ParseInt(was, 10, 64)
	if err != nil && was != "" {
		return false
	}
	if n >= revision {
		return changed
	}
	rs.Annotations[revisionAnnotation] = strconv.FormatInt(revision, 10)
	if had {
		remember(rs, was)
	}
	return true
}

// remember notes a revision that a ReplicaSet had: the Deployment was rolled back to
// it.
func remember(rs *appsv1.ReplicaSet, revision string) {
	history := rs.Annotations[revisionHistoryAnnotation]
	if history == "" {
		rs.Annotations[revisionHistoryAnnotation] = revision
		return
	}
	all := strings.Split(history+","+revision, ",")
	for len(all) > 1 && len(strings.Join(all, ",")) > historyLength {
		all = all[1:]
	}
	rs.Annotations[revisionHistoryAnnotation] = strings.Join(all, ",")
}

// setCounts tells a ReplicaSet how large the Deployment is, by which it is seen later
// whether that has changed.
func setCounts(rs *appsv1.ReplicaSet, d *appsv1.Deployment) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	rs.Annotations[desiredReplicasAnnotation] = strconv.Itoa(int(*d.Spec.Replicas))
	rs.Annotations[maxReplicasAnnotation] = strconv.Itoa(int(*d.Spec.Replicas + maxSurge(d)))
}

func countIn(rs *appsv1.ReplicaSet, annotation string) (int32, bool) {
	n, err := strconv.ParseUint(rs.Annotations[annotation], 10, 32)
	return int32(n), err == nil && n <= math.MaxInt32
}

// create makes the ReplicaSet for the present template.
func (r *rollout) create(ctx context.Context, revision int64) error {
	rs := r.blank()
	*rs.Spec.Replicas = r.wantedOfNew(rs)
	annotate(rs, r.d, revision)
	setCounts(rs, r.d)
	size := *rs.Spec.Replicas
	made, err := r.m.create(ctx, replicaSetsGVR, rs.DeepCopy())
	switch {
	case apierrors.IsAlreadyExists(err):
		if r.newest = r.already(rs.Name); r.newest == nil {
			return r.collide(ctx, err)
		}
		if !r.setRevision(strconv.FormatInt(revision, 10)) {
			return nil
		}
		return r.write(ctx)
	case terminating(err):
		return err
	case err != nil:
		return r.notCreated(ctx, rs.Name, err)
	}
	r.newest = made.(*appsv1.ReplicaSet)
	if size > 0 {
		r.events.normal(r.d, deploymentKind, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", rs.Name, size)
	}
	changed := r.setRevision(strconv.FormatInt(revision, 10))
	if r.hasDeadline() {
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", rs.Name))
		changed = true
	}
	if !changed {
		return nil
	}
	return r.write(ctx)
}

// blank is a ReplicaSet for the present template without pods.
func (r *rollout) blank() *appsv1.ReplicaSet {
	hash := templateHash(&r.d.Spec.Template, r.d.Status.CollisionCount)
	template := r.d.Spec.Template.DeepCopy()
	template.Labels = withHash(template.Labels, hash)
	selector := r.d.Spec.Selector.DeepCopy()
	selector.MatchLabels = withHash(selector.MatchLabels, hash)
	base := r.d.Name
	if longest := validation.DNS1123SubdomainMaxLength - len(hash) - 1; len(base) > longest {
		base = base[:longest]
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.d.Namespace, Name: base + "-" + hash, Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.d, deploymentKind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32), MinReadySeconds: r.d.Spec.MinReadySeconds, Selector: selector, Template: *template,
		},
	}
}

func withHash(labels map[string]string, hash string) map[string]string {
	out := withoutHash(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return out
}

// already returns the ReplicaSet of that name if it is what was to be created: an
// earlier look has done so, and the cache was late.
func (r *rollout) already(name string) *appsv1.ReplicaSet {
	rs, found := cached[*appsv1.ReplicaSet](r.m, replicaSetsGVR, r.d.Namespace, name)
	if found && metav1.IsControlledBy(rs, r.d) && sameTemplate(&rs.Spec.Template, &r.d.Spec.Template) {
		return rs
	}
	return nil
}

// collide counts that another ReplicaSet has the name, which changes the next hash. If
// the cache has not even seen it, that has to wait.
func (r *rollout) collide(ctx context.Context, err error) error {
	name := r.blank().Name
	if _, found := cached[*appsv1.ReplicaSet](r.m, replicaSetsGVR, r.d.Namespace, name); !found {
		return err
	}
	var n int32
	if r.d.Status.CollisionCount != nil {
		n = *r.d.Status.CollisionCount
	}
	n++
	r.d.Status.CollisionCount = &n
	_ = r.write(ctx) // the next look counts again
	return err
}

func (r *rollout) notCreated(ctx context.Context, name string, err error) error {
	message := fmt.Sprintf("Failed to create new replica set %q: %v", name, err)
	if r.hasDeadline() {
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", message)
		_ = r.write(ctx) // what happened is worse
	}
	r.events.warning(r.d, deploymentKind, "ReplicaSetCreateError", "%s", message)
	return err
}
