package kmscheck_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kms/pkg/service"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/kmscheck"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// inPod runs body in a process of a cluster, which has the Pod default/check.
func inPod(t *testing.T, body func(ctx context.Context, env *cluster.Env)) {
	t.Helper()
	c := cluster.New(cluster.Config{Nodes: 1, Engine: engine.Config{Source: engine.NewSeed(1), Horizon: time.Hour, Idle: engine.IdleAllowed}})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "check"},
		Spec:       corev1.PodSpec{NodeName: "elsewhere", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if err := c.Admin().Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	if err := c.Admin().Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	ended := false
	c.Node("node-1").Process(cluster.ProcessSpec{Name: "check", Main: func(ctx context.Context, env *cluster.Env) {
		body(ctx, env)
		ended = true
		_ = env.Clock.Sleep(ctx, 2*time.Hour) // a process that ends is started again
	}})
	if res := c.Run(); res.Err != nil {
		t.Error(res.Err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("the body did not run to its end")
	}
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("k", kmscheck.KeyIDMax+1)
	flip := 0
	for _, c := range []struct {
		name      string
		behaviour kms.Behaviour
		beside    *kms.Behaviour
		want      error
		text      string
	}{
		{name: "a good plugin"},
		{name: "beside a good one", beside: &kms.Behaviour{}},
		{name: "beside one that only says that it is well", beside: &kms.Behaviour{Down: map[kms.Call]error{kms.Encrypt: errors.New("no"), kms.Decrypt: errors.New("no")}}},
		{name: "beside one that does not answer", beside: &kms.Behaviour{Down: map[kms.Call]error{kms.Status: errors.New("address already in use")}},
			want: kmscheck.ErrCoexistence, text: "plugin 2 of 2: a plugin that there is does not answer beside the new one: ask for the status: address already in use"},
		{name: "slow", behaviour: kms.Behaviour{Latency: 9 * time.Second}},
		{name: "too slow", behaviour: kms.Behaviour{Latency: 11 * time.Second}, want: context.DeadlineExceeded},
		{name: "not well", behaviour: kms.Behaviour{Healthz: "sealed"}, want: kmscheck.ErrUnhealthy, text: `the plugin is not healthy: it says "sealed"`},
		{name: "of version 1", behaviour: kms.Behaviour{Version: "v1beta1"}, want: kmscheck.ErrVersion},
		{name: "without a key", behaviour: kms.Behaviour{StatusKeyID: func(string) string { return "" }}, want: kmscheck.ErrKeyID, text: "the plugin gives the key an id that API servers refuse: it has 0 bytes, and 1 to 1024 are allowed"},
		{name: "with a long key", behaviour: kms.Behaviour{StatusKeyID: func(string) string { return long }}, want: kmscheck.ErrKeyID},
		{name: "stale status", behaviour: kms.Behaviour{StatusKeyID: func(string) string { return "old" }}, want: kmscheck.ErrKeyChanges,
			text: `the plugin names the key differently from call to call: the status says "old", and what was encrypted "v1"`},
		{name: "flip-flop", behaviour: kms.Behaviour{StatusKeyID: func(id string) string {
			if flip++; flip > 1 {
				return "other"
			}
			return id
		}}, want: kmscheck.ErrKeyChanges, text: `the plugin names the key differently from call to call: the status says "v1", and a moment later "other"`},
		{name: "no encryption", behaviour: kms.Behaviour{Down: map[kms.Call]error{kms.Encrypt: errors.New("permission denied")}}, text: "encrypt: permission denied"},
		{name: "no decryption", behaviour: kms.Behaviour{Down: map[kms.Call]error{kms.Decrypt: errors.New("permission denied")}}, text: "decrypt: permission denied"},
		{name: "another text", behaviour: kms.Behaviour{Decrypted: func(b []byte) []byte { return b[1:] }}, want: kmscheck.ErrOtherText},
		{name: "no ciphertext", behaviour: kms.Behaviour{Encrypted: func(r *service.EncryptResponse) { r.Ciphertext = nil }}, want: kmscheck.ErrCiphertext},
		{name: "much ciphertext", behaviour: kms.Behaviour{Encrypted: func(r *service.EncryptResponse) { r.Ciphertext = make([]byte, kmscheck.CiphertextMax+1) }}, want: kmscheck.ErrCiphertext},
		{name: "an annotation without a domain", behaviour: kms.Behaviour{Encrypted: func(r *service.EncryptResponse) { r.Annotations["version"] = nil }}, want: kmscheck.ErrAnnotations},
		{name: "large annotations", behaviour: kms.Behaviour{Encrypted: func(r *service.EncryptResponse) {
			r.Annotations["a.example.com"] = make([]byte, kmscheck.AnnotationsMax)
		}}, want: kmscheck.ErrAnnotations},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(ctx context.Context, env *cluster.Env) {
				vault := kms.NewVault("v1")
				tried := kms.NewPlugin(vault, env.Clock)
				tried.Behave(c.behaviour)
				plugins := []service.Service{tried}
				if c.beside != nil {
					there := kms.NewPlugin(kms.NewVault("old"), env.Clock)
					there.Behave(*c.beside)
					plugins = append(plugins, there)
				}
				_, err := kmscheck.Check(ctx, kmscheck.Config{Plugins: plugins, CallTimeout: 10 * time.Second, Clock: env.Clock, Entropy: env.Entropy})
				switch {
				case c.want == nil && c.text == "" && err != nil:
					t.Errorf("refused: %v", err)
				case c.want != nil && !errors.Is(err, c.want):
					t.Errorf("error %v, want %v", err, c.want)
				case c.text != "" && fmt.Sprint(err) != c.text:
					t.Errorf("error\n     %v\nwant %s", err, c.text)
				}
			})
		})
	}
}

// TestAPluginMayTakeItsTime until it is healthy.
func TestAPluginMayTakeItsTime(t *testing.T) {
	inPod(t, func(ctx context.Context, env *cluster.Env) {
		p := kms.NewPlugin(kms.NewVault("v1"), env.Clock)
		p.Behave(kms.Behaviour{Down: map[kms.Call]error{kms.Status: errors.New("no such file or directory")}})
		group := env.Clock.NewGroup(ctx)
		group.Go("start", func(ctx context.Context) {
			_ = env.Clock.Sleep(ctx, 20*time.Second)
			p.Behave(kms.Behaviour{})
		})
		kekID, err := kmscheck.Check(ctx, kmscheck.Config{Plugins: []service.Service{p}, CallTimeout: time.Second, Clock: env.Clock, Entropy: env.Entropy})
		if err != nil || kekID != "v1" {
			t.Errorf("key %q, error %v", kekID, err)
		}
		group.Wait()
	})
}

// TestReport leaves the kubelet's conditions alone.
func TestReport(t *testing.T) {
	inPod(t, func(ctx context.Context, env *cluster.Env) {
		r := &kmscheck.Reporter{Live: env.Kube, Clock: env.Clock, Pod: client.ObjectKey{Namespace: "default", Name: "check"}, ConfigHash: "h.1"}
		conditions := func() map[string]string {
			pod := &corev1.Pod{}
			if err := env.Kube.Get(ctx, r.Pod, pod); err != nil {
				t.Error(err)
			}
			got := map[string]string{}
			for _, c := range pod.Status.Conditions {
				got[string(c.Type)] = strings.TrimSpace(string(c.Status) + " " + c.Reason + " " + c.Message)
			}
			return got
		}
		if err := r.Started(ctx); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(map[string]string{"Ready": "False", "KMSPreflightConfigHash": "True  h.1"}, conditions()); d != "" {
			t.Errorf("at the start (-want +got):\n%s", d)
		}
		if err := r.Ended(ctx, "v1", errors.New("no good")); err != nil {
			t.Error(err)
		}
		want := map[string]string{
			"Ready": "False", "KMSPreflightConfigHash": "True  h.1", "KMSPreflightResult": "False Failed no good", "KMSPreflightKekID": "True  v1",
		}
		if d := cmp.Diff(want, conditions()); d != "" {
			t.Errorf("at the end (-want +got):\n%s", d)
		}
	})
}
