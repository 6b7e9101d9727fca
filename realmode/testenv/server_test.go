package testenv_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/seedbed-sim/seedbed/realmode/testenv"
	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// realVariable, if set, runs the tests that build and start real programs.
const realVariable = "SEEDBED_TEST_REAL"

func needReal(t *testing.T) {
	t.Helper()
	if os.Getenv(realVariable) == "" {
		t.Skipf("needs a real kube-apiserver, which make test-real builds and starts (%s is not set)", realVariable)
	}
}

// start starts a server that stops with the test.
func start(t *testing.T, options testenv.Options) *testenv.Server {
	t.Helper()
	server, err := testenv.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func clientOf(t *testing.T, server *testenv.Server) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestAServerForgetsItsHistory(t *testing.T) {
	needReal(t)
	ctx, server := t.Context(), start(t, testenv.Options{})
	maps := clientOf(t, server).CoreV1().ConfigMaps("default")
	object, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old := object.ResourceVersion
	object.Data = map[string]string{"k": "v"}
	if _, err := maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	exact := metav1.ListOptions{ResourceVersion: old, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	if _, err := maps.List(ctx, exact); err != nil {
		t.Fatalf("before the compaction: %v", err)
	}

	if err := server.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if err := watchFrom(ctx, server, old); err != nil {
		t.Errorf("the watch cache has lost its history: %v", err)
	}
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.List(ctx, exact); !apierrors.IsResourceExpired(err) {
		t.Errorf("a list of the past after a restart: %v", err)
	}
	if err := watchFrom(ctx, server, old); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch of the past after a restart: %v", err)
	}
	if kept, err := maps.Get(ctx, "a", metav1.GetOptions{}); err != nil || kept.Data["k"] != "v" {
		t.Errorf("the present state is not kept: %v, %v", kept, err)
	}
}

// watchFrom tells whether a watch from a resourceVersion begins.
func watchFrom(ctx context.Context, server *testenv.Server, version string) error {
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		return err
	}
	w, err := client.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	defer w.Stop()
	event, open := <-w.ResultChan()
	if !open {
		return errors.New("the watch ended at once")
	}
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	return nil
}

func TestControllersRun(t *testing.T) {
	needReal(t)
	ctx, server := t.Context(), start(t, testenv.Options{Controllers: true})
	maps := clientOf(t, server).CoreV1().ConfigMaps("default")
	owner, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := maps.Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(ctx, "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := maps.Get(ctx, "owned", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("what the owner left is not collected: %v", err)
		}
	}
}

func TestAccessIsDecidedByRBACUnlessAllMay(t *testing.T) {
	needReal(t)
	for name, tc := range map[string]struct {
		options testenv.Options
		may     bool
	}{
		"RBAC":    {testenv.Options{}, false},
		"all may": {testenv.Options{AllowAll: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t, tc.options)
			config := server.Config()
			config.Impersonate.UserName = "alice"
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
			if may := err == nil; may != tc.may || (err != nil && !apierrors.IsForbidden(err)) {
				t.Errorf("alice lists secrets: %v", err)
			}
		})
	}
}

func TestKubectlWorks(t *testing.T) {
	needReal(t)
	server := start(t, testenv.Options{})
	kubectl, err := server.Program(binaries.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(kubectl, "--kubeconfig", server.Kubeconfig(), "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Server Version: v1.37.2") || !strings.Contains(string(out), "Client Version: v1.37.2") {
		t.Errorf("kubectl version: %v\n%s", err, out)
	}
}

func TestAWrongFlagIsQuotedAndNothingIsLeft(t *testing.T) {
	needReal(t)
	logs := t.TempDir()
	_, err := testenv.Start(t.Context(), testenv.Options{Flags: []string{"--no-such-flag=1"}, Logs: logs})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(logs, "etcd.log")); err != nil {
		t.Errorf("the logs are not kept: %v", err)
	}
}

func TestStopEndsEverything(t *testing.T) {
	needReal(t)
	server, err := testenv.Start(t.Context(), testenv.Options{Controllers: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.Get(server.URL().String()); err == nil {
		resp.Body.Close()
		t.Error("the server still answers")
	}
	if _, err := os.Stat(server.Kubeconfig()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its files are still there: %v", err)
	}
}
