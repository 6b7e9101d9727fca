package controller_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/realmode/controller"
)

// ask asks for a type of encryption.
func (w *world) ask(kind v1alpha1.EncryptionType) {
	w.Helper()
	policy := &v1alpha1.EncryptionPolicy{}
	err := w.admin.Get(w.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	policy.Name, policy.Spec.Type = v1alpha1.PolicyName, kind
	if err != nil {
		w.create(policy)
		return
	}
	w.must(w.admin.Update(w.Context(), policy))
}

// encrypted reports whether the policy says that everything is encrypted.
func (w *world) encrypted() bool {
	policy := &v1alpha1.EncryptionPolicy{}
	w.must(w.admin.Get(w.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
	for _, c := range policy.Status.Conditions {
		if strings.HasSuffix(c.Type, "Degraded") && c.Status == metav1.ConditionTrue {
			w.Logf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	return apimeta.IsStatusConditionTrue(policy.Status.Conditions, v1alpha1.Encrypted)
}

// TestEncryption: Secrets in clear are encrypted with a key that was made, and with another
// when somebody asks for it. Two replicas run, of which the leader dies in between: only who
// leads writes, and the other takes over. All of it with the permissions that are declared.
func TestEncryption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.install()
		w.controlPlane()
		for i := range 20 {
			w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: fmt.Sprint("s", i)}, Data: map[string][]byte{"v": []byte("in clear")}})
		}
		one, two := w.config("one"), w.config("two")
		one.Encryption, two.Encryption = controller.DefaultEncryption(), controller.DefaultEncryption()
		w.bind(one)
		first, stopFirst := w.start(one)
		w.within(time.Minute, "the first leads", first.Leads)
		second, stopSecond := w.start(two)
		w.ask(v1alpha1.TypeAESCBC)
		w.within(30*time.Minute, "everything is encrypted", w.encrypted)
		same(t, "Secrets are stored", []string{"aescbc:1"}, w.sealedBy("app"))
		who, sofar := w.writers(0)
		same(t, "who has written", []string{"one"}, who)
		if second.Leads() || second.Ready() != nil || first.Epoch() != 1 {
			t.Errorf("the second leads %t, ready %v; epoch %d", second.Leads(), second.Ready(), first.Epoch())
		}

		one.Rest.Transport.(*line).kill()
		w.ask(v1alpha1.TypeAESGCM)
		w.within(5*time.Minute, "the second leads", second.Leads)
		w.within(time.Minute, "the first leads no longer", func() bool { return !first.Leads() })
		w.within(30*time.Minute, "everything is encrypted with another key", func() bool {
			return w.encrypted() && cmp.Equal(w.sealedBy("app"), []string{"aesgcm:2"})
		})
		who, _ = w.writers(sofar)
		same(t, "who has written since", []string{"two"}, who)
		if second.Epoch() != 2 {
			t.Errorf("epoch %d", second.Epoch())
		}
		if err := stopFirst(); err == nil || !strings.Contains(err.Error(), "the leadership is lost") {
			t.Errorf("the first ends with %v", err)
		}
		if err := stopSecond(); err != nil {
			t.Errorf("the second ends with %v", err)
		}
		if len(w.refused) > 0 {
			t.Errorf("they tried what they may not: %s", strings.Join(w.refused, ", "))
		}
		s, err := w.secret("app", "s7")
		w.must(err)
		same(t, "a value", "in clear", string(s.Data["v"]))
		w.toldNone("in clear", w.keys()...)
	})
}

// keys are all that were made, as they are stored and as they are written in configurations.
func (w *world) keys() (texts []string) {
	w.Helper()
	list := &corev1.SecretList{}
	w.must(w.admin.List(w.Context(), list, client.InNamespace(controller.EncryptionNamespace)))
	for i := range list.Items {
		if key, ok := list.Items[i].Data[keysecret.Material]; ok {
			texts = append(texts, string(key), base64.StdEncoding.EncodeToString(key))
		}
	}
	if len(texts) < 4 {
		w.Errorf("%d keys are stored, want two at least", len(texts)/2)
	}
	return texts
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
