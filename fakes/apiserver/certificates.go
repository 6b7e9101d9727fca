package apiserver

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

// approvalTarget is the subresource approval of CertificateSigningRequests.
var approvalTarget = target{
	prepare: func(c *call, obj, old Object) (Object, bool) {
		registry.PrepareApproval(c.rulesContext(), obj, old)
		return obj, true
	},
	validate: func(c *call, obj, old Object, _ bool) field.ErrorList {
		return registry.ValidateApproval(c.rulesContext(), obj, old)
	},
}

func (c *call) approve() (*Response, error) { return c.dispatchPart(&approvalTarget) }

// admitSigning is what the admission plug-ins for certificates do: only those may
// approve, or sign, who have that verb on the signer, and nobody may ask for a
// certificate of the cluster's administrators.
func (c *call) admitSigning(obj, old Object) error {
	r, ok := obj.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return nil
	}
	was, _ := old.(*certificatesv1.CertificateSigningRequest)
	switch {
	case was == nil:
		return c.admitSubject(&r.Spec)
	case c.req.Subresource == "approval" && !c.mayFor("approve", was.Spec.SignerName):
		return apierrors.NewForbidden(c.ep.gr, was.Name, fmt.Errorf("user not permitted to approve requests with signerName %q", was.Spec.SignerName))
	case c.req.Subresource == "status" && c.signs(r, was) && !c.mayFor("sign", was.Spec.SignerName):
		return apierrors.NewForbidden(c.ep.gr, was.Name, fmt.Errorf("user not permitted to sign requests with signerName %q", was.Spec.SignerName))
	}
	return nil
}

func (c *call) signs(r, was *certificatesv1.CertificateSigningRequest) bool {
	return !bytes.Equal(r.Status.Certificate, was.Status.Certificate) || !equality.Semantic.DeepEqual(r.Status.Conditions, was.Status.Conditions)
}

// mayFor asks for a verb on a signer, or on all signers of its domain.
func (c *call) mayFor(verb, signer string) bool {
	if c.req.User == nil || c.store.opts.Authorizer == nil {
		return true
	}
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		ok, _ := c.store.opts.Authorizer.Authorize(&authz.Attributes{
			User: c.req.User, Verb: verb, Group: certificatesv1.GroupName, Resource: "signers", Name: name,
		})
		if ok {
			return true
		}
	}
	return false
}

func (c *call) admitSubject(s *certificatesv1.CertificateSigningRequestSpec) error {
	if s.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	block, _ := pem.Decode(s.Request)
	if block == nil {
		return apierrors.NewForbidden(c.ep.gr, c.req.Name, fmt.Errorf("failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"))
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return apierrors.NewForbidden(c.ep.gr, c.req.Name, fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(request.Subject.Organization, "system:masters") {
		return apierrors.NewForbidden(c.ep.gr, c.req.Name, fmt.Errorf("use of %s signer with system:masters group is not allowed", s.SignerName))
	}
	return nil
}
