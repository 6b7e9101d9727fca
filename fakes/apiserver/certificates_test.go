package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var signingRequests = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")

func signingRequest(t *testing.T, signer string, subject pkix.Name) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer,
		Usages: []certificatesv1.KeyUsage{"client auth"}, Username: "mallory",
	}}
}

const approved = `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"r"}]}}`

func TestRule06CertificatesAreApprovedAndThenSigned(t *testing.T) {
	a := newAPI(t)
	a.ns = ""
	r := a.create(signingRequests, signingRequest(t, "example.com/s", pkix.Name{CommonName: "jane"})).(*certificatesv1.CertificateSigningRequest)
	equal(t, "who asks", r.Spec.Username, "admin")
	equal(t, "no generation", r.Generation, 0)
	a.refused(a.request(apiserver.Patch, signingRequests, "c", sub("status"), merge(approved)), 422, "Invalid",
		`CertificateSigningRequest.certificates.k8s.io "c" is invalid: status.conditions: Forbidden: updates may not add a condition of type "Approved"`)
	got := a.patch(signingRequests, "c", approved, sub("approval")).(*certificatesv1.CertificateSigningRequest)
	equal(t, "stamped", got.Status.Conditions[0].LastTransitionTime.IsZero(), false)
	a.refused(a.request(apiserver.Patch, signingRequests, "c", sub("approval"), merge(`{"status":{"conditions":[{"type":"Denied","status":"True"}]}}`)), 422, "Invalid",
		`CertificateSigningRequest.certificates.k8s.io "c" is invalid: status.conditions: Forbidden: updates may not remove a condition of type "Approved"`)
	a.refused(a.request(apiserver.Patch, signingRequests, "c", sub("status"), merge(`{"status":{"certificate":"aGk="}}`)), 422, "Invalid",
		`CertificateSigningRequest.certificates.k8s.io "c" is invalid: status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block`)
	a.patch(signingRequests, "c", `{"spec":{"signerName":"other.example.com/s"},"metadata":{"labels":{"a":"b"}}}`)
	got = a.get(signingRequests, "c").(*certificatesv1.CertificateSigningRequest)
	equal(t, "the spec stays", got.Spec.SignerName, "example.com/s")
	equal(t, "selected", names(a.list(signingRequests, fielded("spec.signerName=example.com/s"))), "c")
}

func TestRule16SignersHaveApprovers(t *testing.T) {
	alice, admin := asAlice(t)
	admin.create(clusterRoles, clusterRoleOf("approver", may(certificatesv1.GroupName, "certificatesigningrequests/approval", "patch")), in(""))
	admin.bindCluster("approver", "alice")
	admin.create(signingRequests, signingRequest(t, "example.com/s", pkix.Name{CommonName: "jane"}), in(""))
	approve := alice.request(apiserver.Patch, signingRequests, "c", in(""), sub("approval"), merge(approved))
	alice.refused(approve, 403, "Forbidden", `certificatesigningrequests.certificates.k8s.io "c" is forbidden: user not permitted to approve requests with signerName "example.com/s"`)
	signer := may(certificatesv1.GroupName, "signers", "approve")
	signer.ResourceNames = []string{"example.com/*"}
	admin.create(clusterRoles, clusterRoleOf("signer", signer), in(""))
	admin.bindCluster("signer", "alice")
	alice.must(approve)
	masters := signingRequest(t, "kubernetes.io/kube-apiserver-client", pkix.Name{CommonName: "jane", Organization: []string{"system:masters"}})
	masters.Name = "m"
	_, err := admin.Do(admin.request(apiserver.Create, signingRequests, "", in(""), body(masters)))
	if err == nil || metav1.StatusReasonForbidden != reasonOf(err) {
		t.Errorf("a certificate for system:masters: %v", err)
	}
}
