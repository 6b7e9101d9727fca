package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	realcloak "github.com/seedbed-sim/seedbed/realmode/cloak"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
	"github.com/seedbed-sim/seedbed/realmode/deploy"
)

// certificate writes a new one for the name of the webhook's Service, which is its own
// authority.
func (p *place) certificate(dir string) (roots *x509.CertPool) {
	p.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p.must(err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	p.must(err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "webhook"}, DNSNames: []string{webhookHost},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	p.must(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	p.must(err)
	p.must(os.WriteFile(filepath.Join(dir, "tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	p.must(os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	p.must(err)
	roots.AddCert(parsed)
	return roots
}

const webhookHost = "seedbed-webhook.seedbed-system.svc"

// asker asks a webhook as API servers do.
type asker struct {
	client *http.Client
	url    string
}

func newAsker(address string, roots *x509.CertPool) *asker {
	return &asker{
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: webhookHost, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, DisableKeepAlives: true}},
		url:    "https://" + address,
	}
}

// ask sends a review, and fills what became of the object into it.
func (a *asker) ask(path string, r *admission.Review) admission.Answer {
	answer, err := a.reviewed(path, r)
	if err != nil {
		return admission.Answer{Err: err}
	}
	return answer
}

func (a *asker) reviewed(path string, r *admission.Review) (answer admission.Answer, err error) {
	raw := func(o any) (runtime.RawExtension, error) {
		data, err := json.Marshal(o)
		return runtime.RawExtension{Raw: data}, err
	}
	request := &admissionv1.AdmissionRequest{
		UID: types.UID("asked"), Kind: metav1.GroupVersionKind(r.Kind), Resource: metav1.GroupVersionResource(r.Resource),
		Name: r.Name, Namespace: r.Namespace, Operation: admissionv1.Operation(r.Operation),
	}
	if request.Object, err = raw(r.Object); err != nil {
		return answer, err
	}
	if r.Old != nil {
		if request.OldObject, err = raw(r.Old); err != nil {
			return answer, err
		}
	}
	body, err := json.Marshal(&admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request})
	if err != nil {
		return answer, err
	}
	resp, err := a.client.Post(a.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return answer, err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &review); err != nil || review.Response == nil || review.Response.UID != "asked" {
		return answer, fmt.Errorf("the webhook answers %s %q: %w", resp.Status, text, err)
	}
	if !review.Response.Allowed {
		return admission.Answer{Denied: true, Status: *review.Response.Result}, nil
	}
	if len(review.Response.Patch) == 0 {
		return answer, nil
	}
	patch, err := jsonpatch.DecodePatch(review.Response.Patch)
	if err != nil {
		return answer, err
	}
	patched, err := patch.Apply(request.Object.Raw)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(patched, r.Object)
}

// hook lets the API server ask.
func (p *place) hook(a *asker) {
	match := func(resource string) admission.Match {
		return admission.Match{Operations: []admission.Operation{admission.Create, admission.Update}, Groups: []string{""}, Versions: []string{"v1"}, Resources: []string{resource}}
	}
	p.store.Hook(admission.Hook{Name: "pods.getkloak.io", Match: match("pods"), Mutate: func(r *admission.Review) admission.Answer { return a.ask(realcloak.PodsPath, r) }})
	p.store.Hook(admission.Hook{Name: "secrets.getkloak.io", Match: match("secrets"), Validate: func(r *admission.Review) admission.Answer { return a.ask(realcloak.SecretsPath, r) }})
}

// TestWebhook: an API server asks the webhook over TLS, and Pods get shadows that the
// controllers keep. A new certificate is served without a restart.
func TestWebhook(t *testing.T) {
	p := newPlace(t)
	certs := t.TempDir()
	roots := p.certificate(certs)
	r := p.start(deploy.Webhook.Name, "--listen", "127.0.0.1:0", "--cloak-webhook", "--webhook-listen", "127.0.0.1:0", "--webhook-cert-dir", certs, "--log-level", "debug")
	address := p.address(r, "Serves the webhook")
	p.eventually("it is ready", func() bool { status, _ := r.Get("/readyz"); return status == 200 })
	p.hook(newAsker(address, roots))
	shadows := p.start(deploy.Controller.Name, append(quick, "--cloak-shadows")...)

	bad := protectedSecret()
	bad.Data["short"] = []byte("x")
	if err := p.admin.Create(t.Context(), bad); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot be protected") || strings.Contains(err.Error(), value) {
		t.Errorf("a Secret that cannot be protected: %v", err)
	}
	p.must(p.admin.Create(t.Context(), protectedSecret()))
	p.eventually("the Secret has a shadow", func() bool { return p.secret("app", "db"+cloak.ShadowSecretSuffix) != nil })

	pod := &corev1.Pod{ObjectMeta: objectMeta("app", "web"), Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "i",
		EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}}},
	}}}}
	pod.Labels = map[string]string{cloak.AnnotationEnabled: "true"}
	p.must(p.admin.Create(t.Context(), pod))
	if got := pod.Spec.Containers[0].EnvFrom[0].SecretRef.Name; got != "db"+cloak.ShadowSecretSuffix {
		t.Errorf("the Pod refers to %s", got)
	}
	if pod.Annotations[cloak.AnnotationEnabled] != "true" {
		t.Errorf("annotations %v", pod.Annotations)
	}

	other := newAsker(address, p.certificate(certs))
	p.eventually("the new certificate is served", func() bool {
		review := &admission.Review{Operation: admission.Create, Namespace: "app", Object: &corev1.Pod{ObjectMeta: objectMeta("app", "w2")}}
		_, err := other.reviewed(realcloak.PodsPath, review)
		return err == nil
	})
	if !strings.Contains(metricsOf(p, r), `controller_runtime_webhook_requests_total{code="200",webhook="/pods"}`) {
		t.Error("no metric of the webhook")
	}
	for _, x := range []*daemontest.Process{r, shadows} {
		x.Signal(syscall.SIGTERM)
		if code := x.Wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if strings.Contains(x.Output(), value) {
			t.Error("a value is in the log")
		}
	}
	p.nothingRefused()
}

func metricsOf(p *place, r *daemontest.Process) string {
	_, metrics := r.Get("/metrics")
	return metrics
}
