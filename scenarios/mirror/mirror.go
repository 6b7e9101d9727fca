package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// Namespaces of the originals and of their copies.
const (
	Originals = "originals"
	Copies    = "copies"
)

// Config is the configuration of the system.
type Config struct {
	Forgetful bool `yaml:"forgetful" doc:"Keep the copy when the original is deleted."`
	Hasty     bool `yaml:"hasty" doc:"Give up on the first error of the API server."`
	Panics    bool `yaml:"panics" doc:"Panic on an original whose value is boom."`
}

// View is what CEL sees as mirror.
type View struct {
	Reconciles int `cel:"reconciles"`
}

// State is the system in one run.
type State struct {
	world      *scenarios.World
	reconciles int
}

// SetArgs are the arguments of the step mirror.set.
type SetArgs struct {
	Name  string `yaml:"name" form:"required" doc:"The original's name."`
	Value string `yaml:"value" form:"required" doc:"Its value."`
}

// System returns the system for registration.
func System() scenarios.System {
	return scenarios.System{
		Name:      "mirror",
		Doc:       "A controller that keeps a copy of each ConfigMap of one namespace in another.",
		Config:    Config{},
		Processes: scenarios.ProcessesWith(func(Config, scenarios.Cluster) []string { return []string{"mirror"} }),
		Build:     scenarios.BuildWith(build),
		View:      scenarios.ViewOf(func(s *State) View { return View{Reconciles: s.reconciles} }),
		Steps: []scenarios.StepKind{
			scenarios.NewStep("set", "Writes an original.", "mirror.set: {name: a, value: x}", set),
		},
		Properties: []scenarios.Property{
			scenarios.NewProperty("copies-equal-originals", "Every original has an equal copy: readers of the copies see what was written.",
				func(_ *scenarios.World, s *State) scenarios.Check {
					return scenarios.Check{Eventually: s.equal, Within: 60e9}
				}),
			scenarios.NewProperty("no-orphans", "No copy outlives its original: what was deleted must not be read any more.",
				func(_ *scenarios.World, s *State) scenarios.Check {
					return scenarios.Check{Eventually: s.noOrphans, Within: 60e9}
				}),
		},
	}
}

func build(w *scenarios.World, c Config) (*State, error) {
	s := &State{world: w}
	for _, name := range []string{Originals, Copies} {
		if err := w.Admin().Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return nil, fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	w.ControlPlane().Process(cluster.ProcessSpec{Name: "mirror", Main: func(ctx context.Context, env *cluster.Env) {
		_ = env.Run(ctx, kube.Controller{
			Name:       "mirror",
			Reconciler: &reconciler{state: s, config: c, kube: env.Kube},
			// Copies are watched too: what was deleted while the controller was
			// down makes no event.
			Watches: []kube.Watch{
				{Object: &corev1.ConfigMap{}, Namespace: Originals, Requests: sameName},
				{Object: &corev1.ConfigMap{}, Namespace: Copies, Requests: sameName},
			},
		})
	}})
	return s, nil
}

// sameName maps an original or a copy to the request for its name.
func sameName(_ context.Context, obj client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: obj.GetName()}}}
}

func set(st *scenarios.Story, _ *State, args SetArgs) error {
	st.Tell(args.Name, "writes %q into the original %s", args.Value, args.Name)
	original := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Originals, Name: args.Name}}
	err := st.Admin().Get(st.Context(), client.ObjectKeyFromObject(original), original)
	switch {
	case apierrors.IsNotFound(err):
		original.Data = map[string]string{"value": args.Value}
		return st.Admin().Create(st.Context(), original)
	case err != nil:
		return err
	}
	original.Data = map[string]string{"value": args.Value}
	return st.Admin().Update(st.Context(), original)
}

// reconciler makes one copy equal to its original.
type reconciler struct {
	state  *State
	config Config
	kube   kube.Kube
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.state.reconciles++
	err := r.copy(ctx, req.Name)
	if r.config.Hasty {
		err = nil
	}
	return reconcile.Result{}, err
}

func (r *reconciler) copy(ctx context.Context, name string) error {
	var original, have corev1.ConfigMap
	err := r.kube.Get(ctx, types.NamespacedName{Namespace: Originals, Name: name}, &original)
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return err
	}
	if r.config.Panics && original.Data["value"] == "boom" {
		panic("cannot copy boom")
	}
	err = r.kube.Get(ctx, types.NamespacedName{Namespace: Copies, Name: name}, &have)
	missing := apierrors.IsNotFound(err)
	switch {
	case err != nil && !missing:
		return err
	case gone && (missing || r.config.Forgetful):
		return nil
	case gone:
		return client.IgnoreNotFound(r.kube.Delete(ctx, &have))
	case missing:
		return r.kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Copies, Name: name}, Data: original.Data})
	case maps.Equal(have.Data, original.Data):
		return nil
	}
	have.Data = original.Data
	return r.kube.Update(ctx, &have)
}

// values are the ConfigMaps of a namespace by name.
func (s *State) values(namespace string) (map[string]string, error) {
	var list corev1.ConfigMapList
	if err := s.world.Admin().List(context.Background(), &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list %s: %w", namespace, err)
	}
	values := map[string]string{}
	for _, item := range list.Items {
		values[item.Name] = item.Data["value"]
	}
	return values, nil
}

func (s *State) equal() error {
	originals, err := s.values(Originals)
	copies, err2 := s.values(Copies)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	for name, value := range originals { // any difference will do
		if got, ok := copies[name]; !ok || got != value {
			return fmt.Errorf("of %d originals at least one has no equal copy", len(originals))
		}
	}
	return nil
}

func (s *State) noOrphans() error {
	originals, err := s.values(Originals)
	copies, err2 := s.values(Copies)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	orphans := 0
	for name := range copies { // only counted
		if _, ok := originals[name]; !ok {
			orphans++
		}
	}
	if orphans > 0 {
		return fmt.Errorf("copies without an original: %d", orphans)
	}
	return nil
}
