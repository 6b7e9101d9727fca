package encryption_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// workload is a deployer whose pods do as the test says.
type workload struct {
	clock *fixedClock

	// begins is called for each pod that is deployed; the pod passes at once if it
	// is nil.
	begins func(pod *corev1.PodStatus)

	pod      *corev1.PodStatus
	deployed []string // configurations, in short
	cleanups int
}

func (w *workload) Deploy(_ context.Context, hash string, cfg *corev1.Secret) error {
	if w.pod != nil {
		return errors.New("deployed where there is a pod")
	}
	start := metav1.NewTime(w.clock.now)
	w.pod = &corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &start}
	w.report(encryption.KMSPreflightConfigHashPodCondition, true, hash)
	w.deployed = append(w.deployed, short(&testing.T{}, cfg))
	if w.begins == nil {
		w.report(encryption.KMSPreflightResultPodCondition, true, "")
	} else {
		w.begins(w.pod)
	}
	return nil
}

func (w *workload) Status(context.Context) (corev1.PodStatus, error) {
	if w.pod == nil {
		return corev1.PodStatus{}, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "kms-preflight")
	}
	return *w.pod.DeepCopy(), nil
}

func (w *workload) Cleanup(context.Context) error {
	w.pod = nil
	w.cleanups++
	return nil
}

// report sets a condition of the pod.
func (w *workload) report(kind corev1.PodConditionType, good bool, message string) {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Message: message, LastTransitionTime: metav1.NewTime(w.clock.now)}
	if good {
		c.Status = corev1.ConditionTrue
	}
	w.pod.Conditions = append(w.pod.Conditions, c)
}

func running(*corev1.PodStatus) {}

// kms asks for a plugin.
func (p *plant) kms(address, image string) {
	p.Helper()
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) {
		s.Type = v1alpha1.TypeKMS
		s.KMS = &v1alpha1.KMS{
			Identity: v1alpha1.KMSIdentity{Endpoint: address, KeyPath: "k"}, Plugin: v1alpha1.KMSPlugin{Image: image},
			References: v1alpha1.KMSReferences{Secret: &v1alpha1.ObjectReference{Name: "approle", Keys: []string{"role-id", "secret-id"}}},
		}
	})
}

// credentials makes the Secret that the plugin refers to, or changes it.
func (p *plant) credentials(secretID string) {
	p.Helper()
	s := &corev1.Secret{}
	s.Namespace, s.Name = references, "approle"
	s.Data = map[string][]byte{"role-id": []byte("role"), "secret-id": []byte(secretID), "other": []byte(secretID)}
	err := p.client.Create(p.Context(), s)
	if apierrors.IsAlreadyExists(err) {
		s.ResourceVersion = ""
		err = p.client.Update(p.Context(), s)
	}
	must(p, err)
}

func newKMSPlant(t *testing.T) *plant {
	t.Helper()
	p := newPlant(t)
	p.credentials("hush")
	return p
}

// steps syncs Key and KMSPreflight in turn.
func (p *plant) steps(n int) {
	p.Helper()
	for range n {
		_ = p.sync("Key", "KMSPreflight")
	}
}

func (p *plant) keys() int {
	p.Helper()
	list := &corev1.SecretList{}
	must(p, p.client.List(p.Context(), list))
	n := 0
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, "encryption-key-") {
			n++
		}
	}
	return n
}

// TestToKMSAndOn: a plugin is tried, a key made, and another plugin tried beside it.
func TestToKMSAndOn(t *testing.T) {
	p := newKMSPlant(t)
	p.kms("https://a", "vault:1")
	if got := strings.Join(p.settle(), " → "); got != "i,k1 → k1,i" {
		t.Errorf("rolled out %s", got)
	}
	p.kms("https://a", "vault:2")
	if got := strings.Join(p.settle(), " → "); got != "" {
		t.Errorf("another image made a new key: %s", got)
	}
	p.kms("https://b", "vault:2")
	if got := strings.Join(p.settle(), " → "); got != "k1,k2,i → k2,k1,i" {
		t.Errorf("rolled out %s", got)
	}
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type, s.KMS = v1alpha1.TypeIdentity, nil })
	p.settle()
	p.kms("https://b", "vault:2")
	p.settle()
	if got, want := strings.Join(p.preflight.deployed, " "), "i,k1 i,k2,k1 i,k4,k2"; got != want {
		t.Errorf("tried with %s, want %s", got, want)
	}
	if got := p.condition(v1alpha1.KMSPreflightRequired); got != "False NotRequired" {
		t.Errorf("Required is %s in the end", got)
	}
}

// TestAChangeDuringTheCheck: no key is made for what is no longer wanted.
func TestAChangeDuringTheCheck(t *testing.T) {
	p := newKMSPlant(t)
	p.preflight.begins = running
	p.kms("https://a", "vault:1")
	p.steps(2)
	if p.preflight.pod == nil {
		t.Fatal("nothing is tried")
	}
	p.kms("https://a2", "vault:1")
	p.preflight.report(encryption.KMSPreflightResultPodCondition, true, "") // in the same instant
	p.steps(3)
	if p.keys() != 0 || p.preflight.cleanups != 1 || len(p.preflight.deployed) != 2 {
		t.Errorf("%d keys, %d pods removed, %d deployed", p.keys(), p.preflight.cleanups, len(p.preflight.deployed))
	}
	p.kms("https://a", "vault:1") // and back: the first pod's word does not count
	p.steps(4)
	if p.keys() != 0 || len(p.preflight.deployed) != 3 {
		t.Errorf("%d keys, %d deployed", p.keys(), len(p.preflight.deployed))
	}
	p.preflight.report(encryption.KMSPreflightResultPodCondition, true, "")
	p.steps(2)
	if p.keys() != 1 {
		t.Errorf("%d keys once the check has passed", p.keys())
	}
	if key, err := keysecret.Decode(p.keySecret(1)); err != nil || !strings.Contains(key.KMS.Plugin, `"https://a"`) {
		t.Errorf("the key is for another plugin, or none: %v", err)
	}
}

// TestAnOldVerdictIsNoAnswer: out of use and back, a plugin is tried again.
func TestAnOldVerdictIsNoAnswer(t *testing.T) {
	p := newKMSPlant(t)
	p.kms("https://a", "vault:1")
	p.settle()
	p.ask(func(s *v1alpha1.EncryptionPolicySpec) { s.Type, s.KMS = v1alpha1.TypeIdentity, nil })
	p.settle()
	p.preflight.begins = running
	p.kms("https://a", "vault:1")
	p.steps(3)
	if p.keys() != 2 || len(p.preflight.deployed) != 2 {
		t.Errorf("%d keys, %d deployed; want the two keys from before, and a second check", p.keys(), len(p.preflight.deployed))
	}
}

// TestCredentials: what the plugin refers to is part of what is tried, and missing
// data is an error that names it.
func TestCredentials(t *testing.T) {
	p := newPlant(t)
	p.preflight.begins = running
	p.kms("https://a", "vault:1")
	err := p.sync("Key")
	if err == nil || !strings.Contains(err.Error(), "get Secret seedbed-encryption-config/approle, which the KMS plugin refers to") {
		t.Errorf("error %v", err)
	}
	if got := p.condition(v1alpha1.KeyDegraded); got != "True Error" {
		t.Errorf("Degraded is %s", got)
	}
	p.credentials("hush")
	p.steps(2)
	p.credentials("shush")
	p.steps(3)
	if got := len(p.preflight.deployed); got != 2 {
		t.Errorf("tried %d times, want once more for other credentials", got)
	}
	c := p.policy().Status.Conditions
	for i := range c {
		if strings.Contains(c[i].Message, "hush") {
			t.Errorf("the condition %s shows credentials", c[i].Type)
		}
	}
}

// TestRetention: the pod of a check that passed is there for an hour.
func TestRetention(t *testing.T) {
	p := newKMSPlant(t)
	p.kms("https://a", "vault:1")
	p.settle()
	passed := p.preflight.pod.Conditions[1].LastTransitionTime.Time
	p.clock.now = passed.Add(time.Hour - time.Second)
	must(t, p.sync("KMSPreflight"))
	if p.preflight.pod == nil {
		t.Fatal("removed too early")
	}
	p.clock.now = passed.Add(time.Hour)
	must(t, p.sync("KMSPreflight"))
	must(t, p.sync("KMSPreflight"))
	if p.preflight.pod != nil || p.preflight.cleanups != 1 || len(p.preflight.deployed) != 1 {
		t.Errorf("pod %v, removed %d times, deployed %d times", p.preflight.pod, p.preflight.cleanups, len(p.preflight.deployed))
	}
}

// TestChecksThatFail are told of with the reason, do not make a key, do not hold up
// another configuration, and are made again.
func TestChecksThatFail(t *testing.T) {
	containers := func(state corev1.ContainerState) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "kms-preflight-check", State: state}}
	}
	for _, c := range []struct {
		name   string
		begins func(w *workload, pod *corev1.PodStatus)
		after  time.Duration
		want   string
		failed bool // there is a verdict
	}{
		{"the plugin is no good", func(w *workload, pod *corev1.PodStatus) {
			w.report(encryption.KMSPreflightResultPodCondition, false, "decrypt: permission denied")
			pod.Phase = corev1.PodFailed
		}, 0, "True PreflightCheckFailed", true},
		{"it crashes", func(_ *workload, pod *corev1.PodStatus) {
			pod.Phase = corev1.PodFailed
			pod.ContainerStatuses = containers(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}})
		}, 0, "True OOMKilled", true},
		{"the node is lost", func(_ *workload, pod *corev1.PodStatus) { pod.Phase, pod.Reason = corev1.PodFailed, "NodeLost" }, 0, "True NodeLost", true},
		{"it ends without a word", func(_ *workload, pod *corev1.PodStatus) { pod.Phase = corev1.PodSucceeded }, 0, "True PodCompletedWithoutResult", true},
		{"there is no image", func(_ *workload, pod *corev1.PodStatus) {
			pod.Phase = corev1.PodPending
			pod.ContainerStatuses = containers(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})
		}, 4 * time.Minute, "True ImagePullBackOff", false},
		{"there is no room", func(_ *workload, pod *corev1.PodStatus) { pod.Phase = corev1.PodPending }, 4 * time.Minute, "True Pending", false},
		{"it takes its time", func(*workload, *corev1.PodStatus) {}, 3 * time.Minute, "False AsExpected", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newKMSPlant(t)
			w := &p.preflight
			w.begins = func(pod *corev1.PodStatus) { c.begins(w, pod) }
			p.kms("https://a", "vault:1")
			p.steps(2)
			p.clock.now = p.clock.now.Add(c.after)
			p.steps(2)
			if got := p.condition(v1alpha1.KMSPreflightDegraded); got != c.want {
				t.Errorf("Degraded is %s, want %s", got, c.want)
			}
			if got := p.condition(v1alpha1.KeyDegraded); (got == "True Error") != c.failed {
				t.Errorf("Degraded of Key is %s", got)
			}
			if p.keys() != 0 || len(w.deployed) != 1 {
				t.Fatalf("%d keys, %d deployed", p.keys(), len(w.deployed))
			}
			if c.failed { // made again, in vain, and then for good
				p.clock.now = p.clock.now.Add(5 * time.Minute)
				p.steps(3)
				if got := len(w.deployed); got != 2 {
					t.Errorf("deployed %d times after five minutes, want 2", got)
				}
				p.clock.now = p.clock.now.Add(9 * time.Minute)
				p.steps(3)
				w.begins = nil
				p.clock.now = p.clock.now.Add(2 * time.Minute)
				p.steps(4)
				if p.keys() != 1 {
					t.Errorf("%d keys once the plugin is good, after %d checks", p.keys(), len(w.deployed))
				}
				return
			}
			w.begins = nil
			p.kms("https://b", "vault:1")
			p.steps(4)
			if p.keys() != 1 || w.cleanups != 1 {
				t.Errorf("%d keys for another plugin, %d pods removed", p.keys(), w.cleanups)
			}
		})
	}
}
