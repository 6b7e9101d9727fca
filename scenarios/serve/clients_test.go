package serve_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/serve"
)

// pace is the speed of virtual time here, so that nobody waits for kubelets.
const pace = 100

// patience is how long a test waits for what must come. It is long, since machines may
// be busy.
const patience = 30 * time.Second

// start serves an empty cluster on the loopback interface until the test ends.
func start(t *testing.T, nodes int) *serve.Server {
	t.Helper()
	server, err := serve.Start(serve.Options{Registry: scenarios.MustNew(), World: serve.World{Nodes: nodes}, Speed: pace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// A factory of client-go informers, over TLS and with the token, follows the cluster:
// what was there, what comes, what changes and what goes.
func TestSharedInformers(t *testing.T) {
	t.Parallel()
	server := start(t, 2)
	client := kubernetes.NewForConfigOrDie(server.Config())
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	gone := make(chan string, 1)
	_, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		gone <- key
	}})
	if err != nil {
		t.Fatal(err)
	}
	found := nodes.Lister()
	defer factory.Shutdown()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	factory.StartWithContext(ctx)
	if synced := factory.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
		t.Fatalf("an informer has not synced: %v", synced.AsError())
	}
	if all, err := found.List(labels.Everything()); err != nil || len(all) != 2 {
		t.Errorf("the informer knows %d nodes, %v", len(all), err)
	}

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/web:1"}}},
	}
	if _, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the informer sees the pod run", func(context.Context) (bool, error) {
		p, err := pods.Lister().Pods("default").Get("web")
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && p.Status.Phase == corev1.PodRunning, err
	})
	if err := client.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case key := <-gone:
		if key != "default/web" {
			t.Errorf("the informer sees %s go", key)
		}
	case <-ctx.Done():
		t.Fatal("the informer has not seen the pod go")
	}
}
