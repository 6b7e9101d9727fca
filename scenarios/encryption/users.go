package encryption

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// runUsers is the main function of a process that writes what users write: objects
// of the resources that are encrypted.
func (s *State) runUsers(ctx context.Context, env *cluster.Env) {
	draw := s.world.Engine().Stream("users", env.Process)
	for n := 0; ; n++ {
		if env.Clock.Sleep(ctx, draw.Duration(dist(s.config.Writes))) != nil {
			return
		}
		gr := s.resources[draw.Intn(len(s.resources))]
		number := s.config.Objects + n
		if !s.config.Fresh {
			number = draw.Intn(max(1, s.config.Objects))
		}
		obj := s.userObject(gr, number, fmt.Sprintf("%s-%d-%d", env.Process, env.Incarnation, n))
		if err := s.userWrite(ctx, env.Kube, obj, draw); err != nil {
			s.count.userErrors++
		}
	}
}

// userWrite makes, changes or deletes an object.
func (s *State) userWrite(ctx context.Context, kube client.Client, obj client.Object, draw *engine.Stream) error {
	there := obj.DeepCopyObject().(client.Object)
	err := kube.Get(ctx, client.ObjectKeyFromObject(obj), there)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil:
		return kube.Create(ctx, obj)
	case draw.Intn(4) == 3:
		return kube.Delete(ctx, there)
	default:
		obj.SetResourceVersion(there.GetResourceVersion())
		return kube.Update(ctx, obj)
	}
}

// userObject is the object of that number.
func (s *State) userObject(gr schema.GroupResource, number int, content string) client.Object {
	meta := metav1.ObjectMeta{Namespace: appNamespace, Name: fmt.Sprintf("object-%d", number)}
	switch gr.String() {
	case "secrets":
		return &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"content": []byte(content)}}
	case "configmaps":
		return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"content": content}}
	default:
		kind, err := served{s}.PreferredKind(background, gr)
		s.must(err)
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(kind)
		u.SetNamespace(meta.Namespace)
		u.SetName(strings.ToLower(meta.Name))
		u.SetAnnotations(map[string]string{"content": content})
		return u
	}
}

// plant makes the objects that there are at the start.
func (s *State) plant() {
	for _, gr := range s.resources {
		for i := range s.config.Objects {
			s.must(s.operator.Create(background, s.userObject(gr, i, "at the start")))
		}
	}
}
