package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/references"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/cloak/webhook"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

// cluster is an API server with a namespace for workloads that take part, and Secrets:
//
//	db         protected, with a shadow
//	early      protected, without a shadow yet
//	taken      protected, with somebody else's Secret in its shadow's place
//	plain      not protected
type cluster struct {
	*testing.T
	kube kube.Kube
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{T: t, kube: apiclient.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme)}
	for name, enabled := range map[string]string{"on": "true", "off": "", "odd": "yes"} {
		c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: label(enabled)}})
		for _, s := range []string{"db", "early", "taken", "plain"} {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: s}, Data: map[string][]byte{"k": []byte("correct-horse")}}
			if s != "plain" {
				secret.Labels = label("true")
			}
			c.create(secret)
		}
		c.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "taken-kloak"}})
		for _, s := range []string{"db", "taken"} {
			c.reconcile(name, s)
		}
	}
	return c
}

func (c *cluster) reconcile(namespace, name string) {
	c.Helper()
	r := &shadow.SecretReconciler{Cache: c.kube, Live: c.kube, Entropy: rand.NewChaCha8([32]byte{1}), Recorder: record.NewFakeRecorder(100), Log: logr.Discard()}
	if _, err := r.Reconcile(c.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) create(obj client.Object) {
	c.Helper()
	if err := c.kube.Create(c.Context(), obj); err != nil {
		c.Fatal(err)
	}
}

func label(value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{cloak.AnnotationEnabled: value}
}

func pod(t *testing.T, spec string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte("spec: {"+spec+"}"), p); err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	volume    = `volumes: [{name: v, secret: {secretName: %s}}]`
	projected = `volumes: [{name: v, projected: {sources: [{secret: {name: %s}}]}}]`
	env       = `containers: [{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: %s, key: k}}}]}]`
	envFrom   = `containers: [{name: c, envFrom: [{secretRef: {name: %s}}]}]`
	initEnv   = `initContainers: [{name: c, envFrom: [{secretRef: {name: %s}}]}]`
	optional  = `volumes: [{name: v, secret: {secretName: %s, optional: true}}]`
	pull      = `imagePullSecrets: [{name: %s}]`
	csi       = `volumes: [{name: v, csi: {driver: d, nodePublishSecretRef: {name: %s}}}]`
)

func names(p *corev1.Pod) string {
	var out []string
	for _, r := range references.Find(&p.Spec) {
		out = append(out, *r.Name)
	}
	return strings.Join(out, " ")
}

// Section 2.4, per reference, and I11.
func TestReferences(t *testing.T) {
	c := newCluster(t)
	for _, tc := range []struct {
		row, spec, secret string
		want              string // the name afterwards
		err               string
		retry             bool
	}{
		{"volume", volume, "db", "db-kloak", "", false},
		{"projected volume", projected, "db", "db-kloak", "", false},
		{"environment", env, "db", "db-kloak", "", false},
		{"all of the environment", envFrom, "db", "db-kloak", "", false},
		{"an init container", initEnv, "db", "db-kloak", "", false},
		{"an optional one", optional, "db", "db-kloak", "", false},
		{"the shadow itself", volume, "db-kloak", "db-kloak", "", false},
		{"not enabled", volume, "plain", "plain", "", false},
		{"not there", volume, "none", "none", "", false},
		{"not there and optional", optional, "none", "none", "", false},
		{"no shadow yet", volume, "early", "early", "Secret early is protected and has no shadow; try again", true},
		{"no shadow yet and optional", optional, "early", "early", "Secret early is protected and has no shadow; try again", true},
		{"somebody else's Secret there", env, "taken", "taken", "Secret taken-kloak is not its shadow: there is a Secret taken-kloak", true},
		{"images are pulled with it", pull, "db", "db", "spec.imagePullSecrets[0].name refers to Secret db, which is protected", false},
		{"a driver reads it", csi, "db", "db", "nodePublishSecretRef.name refers to Secret db, which is protected", false},
		{"a driver reads what is not enabled", csi, "plain", "plain", "", false},
	} {
		p := pod(t, fmt.Sprintf(tc.spec, tc.secret))
		w := &webhook.Pods{Live: c.kube}
		err := w.Mutate(t.Context(), "on", p, nil)
		var refusal *webhook.Refusal
		if tc.err == "" && err != nil || tc.err != "" && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), tc.err) || refusal.Retry != tc.retry) {
			t.Errorf("%s: %v, want %q", tc.row, err, tc.err)
		}
		if got := names(p); got != tc.want {
			t.Errorf("%s: refers to %s, want %s", tc.row, got, tc.want)
		}
		if err != nil {
			continue
		}
		if p.Annotations[cloak.AnnotationEnabled] != "true" {
			t.Errorf("%s: no annotation", tc.row)
		}
		again := p.DeepCopy()
		if err := w.Mutate(t.Context(), "on", again, nil); err != nil {
			t.Errorf("%s: again: %v", tc.row, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("%s: again (-once +twice):\n%s", tc.row, diff)
		}
	}
}

// Section 2.4, precedence.
func TestWhoTakesPart(t *testing.T) {
	c := newCluster(t)
	for _, tc := range []struct {
		namespace, label string
		want             bool
	}{
		{"on", "", true}, {"on", "true", true}, {"on", "false", false}, {"on", "yes", false},
		{"off", "", false}, {"off", "true", true}, {"off", "false", false}, {"odd", "", false},
	} {
		p := pod(t, fmt.Sprintf(volume, "db"))
		p.Labels = label(tc.label)
		if err := (&webhook.Pods{Live: c.kube}).Mutate(t.Context(), tc.namespace, p, nil); err != nil {
			t.Error(err)
		}
		if got := names(p) == "db-kloak" && p.Annotations[cloak.AnnotationEnabled] == "true"; got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
	p := pod(t, fmt.Sprintf(volume, "db"))
	p.Annotations = map[string]string{cloak.AnnotationEnabled: "true"}
	if err := (&webhook.Pods{Live: c.kube}).Mutate(t.Context(), "off", p, nil); err != nil || names(p) != "db" {
		t.Errorf("the annotation alone enables: %v, %s", err, names(p))
	}
}

// failing is an API server that fails reads of one name.
type failing struct {
	kube.Reader
	name string
}

func (f failing) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if key.Name == f.name {
		return apierrors.NewTimeoutError("slow", 1)
	}
	return f.Reader.Get(ctx, key, obj, opts...)
}

// Section 2.4, I11: what is not known is refused.
func TestWhatCannotBeRead(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"on", "db", "db-kloak"} {
		p := pod(t, fmt.Sprintf(volume, "db"))
		err := (&webhook.Pods{Live: failing{c.kube, name}}).Mutate(t.Context(), "on", p, nil)
		var refusal *webhook.Refusal
		if !errors.As(err, &refusal) || !refusal.Retry {
			t.Errorf("%s cannot be read: %v", name, err)
		}
	}
}

// Section 2.4, ephemeral containers: those that are new, and nothing else of the Pod.
func TestEphemeralContainers(t *testing.T) {
	c := newCluster(t)
	old := pod(t, `volumes: [{name: v, secret: {secretName: db}}], ephemeralContainers: [{name: a, envFrom: [{secretRef: {name: db}}]}]`)
	p := old.DeepCopy()
	p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "b", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}}},
	}})
	if err := (&webhook.Pods{Live: c.kube}).Mutate(t.Context(), "on", p, old); err != nil {
		t.Fatal(err)
	}
	if got := names(p); got != "db db db-kloak" || p.Annotations != nil {
		t.Errorf("%s, annotations %v", got, p.Annotations)
	}
}

// Section 2.4, the validating webhook.
func TestSecrets(t *testing.T) {
	secret := func(value, port string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db", Labels: label("true"), Annotations: map[string]string{cloak.AnnotationPort: port}},
			Data: map[string][]byte{"k": []byte(value)}}
	}
	off := secret("short", "x")
	off.Labels = nil
	going := secret("short", "x")
	going.DeletionTimestamp = ptr.To(metav1.Now())
	for _, tc := range []struct {
		row    string
		s, old *corev1.Secret
		want   string
	}{
		{"good", secret("correct-horse", "443"), nil, ""},
		{"not enabled", off, nil, ""},
		{"all defects at once", secret("short", "x"), nil, "Secret db cannot be protected: annotations[getkloak.io/port]: not a port: " +
			"write a number from 1 to 65535, such as 443 or 443/tcp; data[k]: too short: it has 5 bytes and needs at least 8"},
		{"good becomes bad", secret("short", ""), secret("correct-horse", ""), "data[k]: too short"},
		{"enabled while bad", secret("short", ""), off, "data[k]: too short"},
		{"bad before, and nothing new", secret("short", ""), secret("SHORT", ""), ""},
		{"bad before, and worse", secret("short", "x"), secret("short", ""), "not a port"},
		{"bad in another way", secret("shor", ""), secret("short", ""), "it has 4 bytes"},
		{"being deleted", going, secret("correct-horse", ""), ""},
	} {
		err := webhook.Secrets{}.Validate(tc.s, tc.old)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.row, err, tc.want)
		}
	}
}

// Section 2.4: which requests are asked about. The API server accepts the webhooks, and
// each Pod that takes part fits exactly one.
func TestConfigurations(t *testing.T) {
	mutating, validating := webhook.Configurations("kloak-system")
	service := registrationv1.WebhookClientConfig{Service: &registrationv1.ServiceReference{Namespace: "kloak-system", Name: "webhook"}}
	for i := range mutating {
		mutating[i].ClientConfig = service
	}
	validating[0].ClientConfig = service
	c := newCluster(t)
	c.create(&registrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kloak"}, Webhooks: mutating})
	c.create(&registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kloak"}, Webhooks: validating})
	for _, tc := range []struct {
		namespace, namespaceLabel, podLabel string
		want                                int
	}{
		{"a", "true", "", 1}, {"a", "true", "true", 1}, {"a", "true", "false", 0}, {"a", "", "true", 1}, {"a", "", "", 0}, {"a", "false", "", 0},
		{"kloak-system", "true", "", 0}, {"kloak-system", "", "true", 0},
	} {
		set := labels.Set{"kubernetes.io/metadata.name": tc.namespace}
		if tc.namespaceLabel != "" {
			set[cloak.AnnotationEnabled] = tc.namespaceLabel
		}
		fits := 0
		for _, w := range mutating {
			if selects(t, w.NamespaceSelector, set) && selects(t, w.ObjectSelector, label(tc.podLabel)) {
				fits++
			}
		}
		if fits != tc.want {
			t.Errorf("%+v: fits %d", tc, fits)
		}
	}
}

func selects(t *testing.T, s *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(set)
}
