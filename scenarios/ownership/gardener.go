package ownership

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// user makes the requests of the gardener: by it they are told from those of the
// controllers.
var user = apiserver.User{Name: gardener}

// holder is the gardener's finalizer.
const holder = "garden.seedbed.dev/hold"

// label marks what the gardener has made.
const label = "garden.seedbed.dev/planted"

// bed is where the gardener always plants; it makes further namespaces and deletes
// them.
const bed = "default"

// garden is the main function of the gardener's process. A new incarnation goes on
// where the last one ended.
func (s *State) garden(ctx context.Context, env *cluster.Env) {
	g := &gardening{State: s, kube: env.Kube}
	for {
		d := s.world.ChooseWithin("pace", s.config.Pace.Std()/8, s.config.Pace.Std())
		if env.Clock.Sleep(ctx, d) != nil {
			return
		}
		do := g.act
		switch {
		case s.done:
			continue
		case s.world.Engine().Elapsed() > s.config.Work.Std():
			do = g.letGo
		}
		if err := do(ctx); err != nil {
			env.Log.V(1).Info("cannot garden", "err", err.Error())
		}
	}
}

// gardening is one incarnation of the gardener.
type gardening struct {
	*State
	kube client.Client
}

func (g *gardening) choose(what string, n int) int { return g.world.Choose(what, n) }

// act does one thing.
func (g *gardening) act(ctx context.Context) error {
	all, err := g.planted(ctx)
	if err != nil {
		return err
	}
	live := slices.DeleteFunc(slices.Clone(all), func(o client.Object) bool { return o.GetDeletionTimestamp() != nil })
	if len(live) < 3 {
		return g.plant(ctx, live)
	}
	victim := live[g.choose("victim", len(live))]
	switch g.choose("act", 12) {
	case 0, 1, 2, 3, 4:
		return g.plant(ctx, live)
	case 5, 6, 7:
		return g.remove(ctx, victim)
	case 8:
		return g.hold(ctx, victim, true)
	case 9:
		return g.hold(ctx, all[g.choose("released", len(all))], false)
	case 10:
		return g.replant(ctx, victim)
	default:
		if g.config.Adopts && g.choose("adopt", 2) == 1 {
			return g.adopt(ctx, victim, live)
		}
		return g.namespace(ctx)
	}
}

// planted returns all that the gardener has made and that is still there.
func (g *gardening) planted(ctx context.Context) ([]client.Object, error) {
	var out []client.Object
	var maps corev1.ConfigMapList
	if err := g.kube.List(ctx, &maps, client.HasLabels{label}); err != nil {
		return nil, fmt.Errorf("list config maps: %w", err)
	}
	for i := range maps.Items {
		out = append(out, &maps.Items[i])
	}
	var secrets corev1.SecretList
	if !g.config.Mixed {
		return out, nil
	}
	if err := g.kube.List(ctx, &secrets, client.HasLabels{label}); err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	for i := range secrets.Items {
		out = append(out, &secrets.Items[i])
	}
	return out, nil
}

func kindOf(o client.Object) string {
	if _, secret := o.(*corev1.Secret); secret {
		return "Secret"
	}
	return "ConfigMap"
}

func (g *gardening) fresh() client.Object {
	meta := metav1.ObjectMeta{Labels: map[string]string{label: "true"}}
	if g.config.Mixed && g.choose("kind", 2) == 1 {
		return &corev1.Secret{ObjectMeta: meta}
	}
	return &corev1.ConfigMap{ObjectMeta: meta}
}

// plant makes an object with up to two owners.
func (g *gardening) plant(ctx context.Context, live []client.Object) error {
	o := g.fresh()
	o.SetNamespace(bed)
	o.SetName(fmt.Sprintf("p%d", g.count.planted))
	g.count.planted++
	var refs []metav1.OwnerReference
	for range g.choose("owners", 3) {
		if len(live) == 0 {
			break
		}
		owner := live[g.choose("owner", len(live))]
		if len(refs) == 0 && g.choose("abroad", 8) != 1 {
			o.SetNamespace(owner.GetNamespace())
		}
		if !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }) {
			refs = append(refs, g.reference(owner))
		}
	}
	o.SetOwnerReferences(refs)
	return g.kube.Create(ctx, o)
}

func (g *gardening) reference(owner client.Object) metav1.OwnerReference {
	blocks := g.choose("blocks", 2) == 1
	return metav1.OwnerReference{APIVersion: "v1", Kind: kindOf(owner), Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: &blocks}
}

var policies = []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}

func (g *gardening) remove(ctx context.Context, o client.Object) error {
	policy := policies[g.choose("policy", len(policies))]
	return client.IgnoreNotFound(g.kube.Delete(ctx, o, client.PropagationPolicy(policy), client.Preconditions{UID: uidOf(o)}))
}

// replant puts another object in the place of one.
func (g *gardening) replant(ctx context.Context, o client.Object) error {
	if err := g.kube.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: uidOf(o)}); err != nil {
		return client.IgnoreNotFound(err)
	}
	next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels()}}
	if kindOf(o) == "Secret" {
		return g.kube.Create(ctx, &corev1.Secret{ObjectMeta: next.ObjectMeta})
	}
	return g.kube.Create(ctx, next)
}

// hold puts the gardener's finalizer on an object, or takes it off.
func (g *gardening) hold(ctx context.Context, o client.Object, on bool) error {
	kept := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == holder })
	if on {
		kept = append(kept, holder)
	}
	if len(kept) == len(o.GetFinalizers()) {
		return nil
	}
	o.SetFinalizers(kept)
	return client.IgnoreNotFound(g.kube.Update(ctx, o))
}

// adopt gives an object one more owner.
func (g *gardening) adopt(ctx context.Context, o client.Object, live []client.Object) error {
	owner := live[g.choose("adopter", len(live))]
	refs := o.GetOwnerReferences()
	if owner.GetNamespace() != o.GetNamespace() || owner.GetUID() == o.GetUID() ||
		slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }) {
		return nil
	}
	o.SetOwnerReferences(append(refs, g.reference(owner)))
	return client.IgnoreNotFound(g.kube.Update(ctx, o))
}

// namespace makes a namespace with an object in it, or deletes one with all that is
// in it.
func (g *gardening) namespace(ctx context.Context) error {
	name := fmt.Sprintf("bed-%d", g.choose("namespace", 3))
	var ns corev1.Namespace
	switch err := g.kube.Get(ctx, client.ObjectKey{Name: name}, &ns); {
	case apierrors.IsNotFound(err):
		ns.Name = name
		if err := g.kube.Create(ctx, &ns); err != nil {
			return fmt.Errorf("make namespace: %w", err)
		}
		first := g.fresh()
		first.SetNamespace(name)
		first.SetName("first")
		return g.kube.Create(ctx, first)
	case err != nil || ns.DeletionTimestamp != nil:
		return err
	default:
		return g.kube.Delete(ctx, &ns)
	}
}

// letGo takes the gardener's finalizer off everything, and ends the gardening once
// nothing is held.
func (g *gardening) letGo(ctx context.Context) error {
	all, err := g.planted(ctx)
	if err != nil {
		return err
	}
	held := slices.DeleteFunc(all, func(o client.Object) bool { return !slices.Contains(o.GetFinalizers(), holder) })
	for _, o := range held {
		if err := g.hold(ctx, o, false); err != nil {
			return err
		}
	}
	g.done = len(held) == 0
	g.world.Engine().Touch()
	return nil
}
