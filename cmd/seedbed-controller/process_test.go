package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/deploy"
)

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// value is what no log, metric or Event shows.
const value = "correct horse battery staple"

// protectedSecret is one that is to have a shadow.
func protectedSecret() *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: objectMeta("app", "db"), Data: map[string][]byte{"password": []byte(value)}}
	s.Labels = map[string]string{cloak.AnnotationSecretEnabled: "true"}
	s.Annotations = map[string]string{cloak.AnnotationHosts: "db.example.com"}
	return s
}

// quick are flags by which leaders change soon.
var quick = []string{"--listen", "127.0.0.1:0", "--lease-duration", "10s", "--renew-deadline", "8s", "--retry-period", "500ms"}

// TestProgram is the life of two replicas with all their controllers, the account and the
// permissions of the manifests: what they do, what they show, and that one takes over when
// the other is killed.
func TestProgram(t *testing.T) {
	p := newPlace(t)
	p.install()
	config := filepath.Join(p.dir, "config.yaml")
	p.must(os.WriteFile(config, []byte("encryption: true\ngossip-keys: true\ncloak-shadows: true\nlog-level: debug\n"), 0o600))
	first := p.start(deploy.Controller.Name, append(quick, "--config", config, "--identity", "first")...)
	p.eventually("the first leads", func() bool { return p.has(first, "seedbed_controller_leader 1") })
	second := p.start(deploy.Controller.Name, append(quick, "--config", config, "--identity", "second")...)
	p.eventually("the second is ready", func() bool { status, _ := second.Get("/readyz"); return status == 200 })

	p.eventually("there is a gossip key", func() bool {
		return p.secret(controller.GossipNamespace, gossipkeys.SecretName) != nil
	})
	p.must(p.admin.Create(t.Context(), protectedSecret()))
	p.eventually("the Secret has a shadow", func() bool { return p.secret("app", "db"+cloak.ShadowSecretSuffix) != nil })
	p.must(p.admin.Create(t.Context(), &v1alpha1.EncryptionPolicy{ObjectMeta: objectMeta("", v1alpha1.PolicyName), Spec: v1alpha1.EncryptionPolicySpec{Type: v1alpha1.TypeAESCBC}}))
	p.eventually("the policy has conditions", func() bool {
		policy := &v1alpha1.EncryptionPolicy{}
		p.must(p.admin.Get(t.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
		return len(policy.Status.Conditions) > 0
	})
	for _, metric := range []string{
		`seedbed_controller_leader 0`, `seedbed_controller_epoch 0`, `seedbed_controller_part_enabled{part="encryption"} 1`, `seedbed_controller_part_enabled{part="cloak-webhook"} 0`,
	} {
		if !p.has(second, metric) {
			t.Errorf("the second has no metric %s", metric)
		}
	}

	first.Kill()
	p.eventually("the second leads", func() bool { return p.has(second, "seedbed_controller_leader 1") })
	if !p.has(second, "seedbed_controller_epoch 2") {
		t.Error("its epoch is not 2")
	}
	p.must(p.admin.Delete(t.Context(), &corev1.Secret{ObjectMeta: objectMeta(controller.GossipNamespace, gossipkeys.SecretName)}))
	p.eventually("there is a gossip key again", func() bool {
		return p.secret(controller.GossipNamespace, gossipkeys.SecretName) != nil
	})
	key := string(p.secret(controller.GossipNamespace, gossipkeys.SecretName).Data[gossipkeys.DataKey])
	_, metrics := second.Get("/metrics")
	for what, told := range map[string]string{"the first's log": first.Output(), "the second's log": second.Output(), "metrics": metrics} {
		for _, secret := range []string{value, strings.TrimSpace(key), deploy.Controller.Name + `"`} {
			if strings.Contains(told, secret) {
				t.Errorf("%s: a secret is shown", what)
			}
		}
	}

	second.Signal(syscall.SIGTERM)
	if code := second.Wait(); code != 0 || !strings.Contains(second.Output(), "Has stopped, as it was told to") {
		t.Errorf("exit code %d", code)
	}
	lease := &coordinationv1.Lease{}
	p.must(p.admin.Get(t.Context(), client.ObjectKey{Namespace: controller.Namespace, Name: controller.LeaseName}, lease))
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder != "" {
		t.Error("the Lease was not given back")
	}
	p.nothingRefused()
}

// TestQuietByDefault: a replica that has nothing to tell tells little.
func TestQuietByDefault(t *testing.T) {
	p := newPlace(t)
	r := p.start(deploy.Controller.Name, append(quick, "--gossip-keys", "--cloak-shadows")...)
	p.eventually("there is a gossip key", func() bool { return strings.Contains(r.Output(), "Created Secret") })
	r.Signal(syscall.SIGTERM)
	if code := r.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if lines := strings.Count(r.Output(), "\n"); lines != 4 { // the endpoints, the Lease, the key, the end
		t.Errorf("%d lines", lines)
	}
}
