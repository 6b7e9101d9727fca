package rest_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func newHandler() *rest.Handler {
	return rest.New(apiserver.NewServer(apiserver.NewStore(apiserver.Options{}), "test"))
}

// protobufConfig is a configuration of clients that speak protobuf.
func protobufConfig(h *rest.Handler) *restclient.Config {
	config := h.Config()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	return config
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAllClientsSeeOneServer writes with a typed client and reads with the
// others, in process and over a socket.
func TestAllClientsSeeOneServer(t *testing.T) {
	handler := newHandler()
	socket := httptest.NewServer(handler)
	defer socket.Close()
	overSocket := handler.Config()
	overSocket.Host, overSocket.Transport = socket.URL, nil

	for name, config := range map[string]*restclient.Config{"in process": handler.Config(), "socket": overSocket} {
		t.Run(name, func(t *testing.T) { talk(t, config) })
	}
}

func talk(t *testing.T, config *restclient.Config) {
	ctx := context.Background()
	typed := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	created, err := typed.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}, Data: map[string]string{"k": "v"},
	}, metav1.CreateOptions{})
	must(t, err)

	u, err := dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace("default").Get(ctx, created.Name, metav1.GetOptions{})
	must(t, err)
	if u.GetKind() != "ConfigMap" || u.GetResourceVersion() != created.ResourceVersion {
		t.Errorf("dynamic client got %v", u.Object)
	}
	partial, err := metadata.NewForConfigOrDie(config).Resource(configMaps).Namespace("default").List(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + created.Name,
	})
	must(t, err)
	if len(partial.Items) != 1 || partial.Items[0].UID != created.UID {
		t.Errorf("metadata client got %+v", partial.Items)
	}
	patched, err := typed.Patch(ctx, created.Name, types.MergePatchType, []byte(`{"data":{"k":"w"}}`), metav1.PatchOptions{})
	must(t, err)
	_, err = typed.Update(ctx, created, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		t.Errorf("update of a stale object: got %v, want a conflict", err)
	}
	must(t, typed.Delete(ctx, created.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &patched.UID}}))
	if _, err = typed.Get(ctx, created.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get of a deleted object: got %v, want not found", err)
	}
}

func TestDiscovery(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(newHandler().Config())
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	must(t, err)
	found := map[string]string{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			found[list.GroupVersion+"/"+r.Name] = r.Kind
		}
	}
	for name, kind := range map[string]string{
		"v1/pods": "Pod", "v1/pods/status": "Pod", "apps/v1/deployments/scale": "Scale", "coordination.k8s.io/v1/leases": "Lease",
	} {
		if found[name] != kind {
			t.Errorf("%s: kind is %q, want %q", name, found[name], kind)
		}
	}
	v, err := client.Discovery().ServerVersion()
	must(t, err)
	if v.Major != "1" || v.Minor != "37" {
		t.Errorf("version is %+v", v)
	}
}

func TestImpersonation(t *testing.T) {
	server := apiserver.New(apiserver.Options{RBAC: true})
	config := rest.New(server).Config()
	config.Impersonate = restclient.ImpersonationConfig{UserName: "alice"}
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("default").List(context.Background(), metav1.ListOptions{})
	want := `secrets is forbidden: User "alice" cannot list resource "secrets" in API group "" in the namespace "default"`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestInformer runs a shared informer, which lists by watching, through adds,
// updates, deletes and a cut connection.
func TestInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		config := newHandler().Config()
		client := kubernetes.NewForConfigOrDie(config)
		maps := client.CoreV1().ConfigMaps("default")
		create := func(name string) {
			_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			must(t, err)
		}
		create("before")

		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
		informer := factory.Core().V1().ConfigMaps().Informer()
		var seen []string
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { seen = append(seen, "add "+obj.(*corev1.ConfigMap).Name) },
			UpdateFunc: func(_, obj any) { seen = append(seen, "update "+obj.(*corev1.ConfigMap).Data["k"]) },
			DeleteFunc: func(obj any) { seen = append(seen, "delete "+obj.(*corev1.ConfigMap).Name) },
		})
		must(t, err)
		factory.Start(ctx.Done())
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Fatal("the informer does not sync")
		}

		create("after")
		_, err = maps.Patch(ctx, "before", types.MergePatchType, []byte(`{"data":{"k":"v"}}`), metav1.PatchOptions{})
		must(t, err)
		// Informers ask for watches of 5 to 10 minutes: this one reconnects.
		synctest.Wait()
		time.Sleep(20 * time.Minute)
		must(t, maps.Delete(ctx, "after", metav1.DeleteOptions{}))
		synctest.Wait()

		want := []string{"add before", "add after", "update v", "delete after"}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		cancel()
		factory.Shutdown()
	})
}

// TestWatchEnds checks the three ways in which a watch ends.
func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dynamic.NewForConfigOrDie(newHandler().Config()).Resource(configMaps)
		closed := func(name string, options metav1.ListOptions, end func(cancel, stop func())) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			w, err := client.Watch(ctx, options)
			must(t, err)
			synctest.Wait()
			end(cancel, w.Stop)
			synctest.Wait()
			for range w.ResultChan() { // drained once the watch has ended
			}
			t.Log(name, "ended")
		}
		second := int64(1)
		closed("a watch with a timeout", metav1.ListOptions{TimeoutSeconds: &second}, func(_, _ func()) { time.Sleep(2 * time.Second) })
		closed("a cancelled watch", metav1.ListOptions{}, func(cancel, _ func()) { cancel() })
		closed("a stopped watch", metav1.ListOptions{}, func(_, stop func()) { stop() })
	})
}
