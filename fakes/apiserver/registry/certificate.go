package registry

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// signingRequests name who made them. Approval and denial are written by the
// subresource approval alone, the certificate by status alone.
var signingRequests = &Kind{
	GroupVersionKind: certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"),
	Names:            Names{Plural: "certificatesigningrequests", ShortNames: []string{"csr"}},
	Cluster:          true,
	Prototype:        &certificatesv1.CertificateSigningRequest{},
	Naming:           func(string, bool) []string { return nil },
	PlainFieldError:  true,
	Fields: []*store.Field{
		{Name: "spec.signerName", Get: func(o Object) string { return o.(*certificatesv1.CertificateSigningRequest).Spec.SignerName }},
	},
	Status: &Status{
		Prepare: func(c *Context, obj, old Object) {
			r, was := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
			keepDecision(r, was, certificatesv1.CertificateApproved)
			keepDecision(r, was, certificatesv1.CertificateDenied)
			stampConditions(c, r, was)
		},
		Validate: func(_ *Context, obj, old Object) field.ErrorList { return validateSigning(obj, old, false) },
	},
	PrepareCreate: func(c *Context, obj Object) {
		s := &obj.(*certificatesv1.CertificateSigningRequest).Spec
		s.Username, s.UID, s.Groups, s.Extra = c.User.Name, c.User.UID, slices.Clone(c.User.Groups), nil
		if len(c.User.Extra) > 0 {
			s.Extra = map[string]certificatesv1.ExtraValue{}
			for k, v := range c.User.Extra {
				s.Extra[k] = slices.Clone(v)
			}
		}
	},
	PrepareUpdate: func(_ *Context, obj, old Object) {
		obj.(*certificatesv1.CertificateSigningRequest).Spec = old.(*certificatesv1.CertificateSigningRequest).Spec
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateSigningRequest(&obj.(*certificatesv1.CertificateSigningRequest).Spec)
	},
}

// PrepareApproval makes of a CertificateSigningRequest that was sent to the
// subresource approval what is to be stored: only conditions change.
func PrepareApproval(c *Context, obj, old Object) {
	r, was := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	stampConditions(c, r, was)
	conditions := r.Status.Conditions
	r.Spec, r.Status = was.Spec, was.Status
	r.Status.Conditions = conditions
}

// ValidateApproval checks what PrepareApproval has made.
func ValidateApproval(_ *Context, obj, old Object) field.ErrorList {
	return validateSigning(obj, old, true)
}

// keepDecision puts conditions that a write to the status may not change back, where
// it did not add or remove any.
func keepDecision(r, was *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) {
	now, before := conditionsOf(r, kind), conditionsOf(was, kind)
	if len(now) != len(before) {
		return
	}
	if len(now) > 0 {
		r.Status.Conditions = slices.Clone(r.Status.Conditions)
	}
	for i, at := range now {
		r.Status.Conditions[at] = was.Status.Conditions[before[i]]
	}
}

// conditionsOf returns the places of the conditions of a kind.
func conditionsOf(r *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) []int {
	var at []int
	for i := range r.Status.Conditions {
		if r.Status.Conditions[i].Type == kind {
			at = append(at, i)
		}
	}
	return at
}

func stampConditions(c *Context, r, was *certificatesv1.CertificateSigningRequest) {
	if len(r.Status.Conditions) == 0 {
		return
	}
	r.Status.Conditions = slices.Clone(r.Status.Conditions)
	for i := range r.Status.Conditions {
		cond := &r.Status.Conditions[i]
		if cond.LastUpdateTime.IsZero() {
			cond.LastUpdateTime = c.Now
		}
		if cond.LastTransitionTime.IsZero() {
			cond.LastTransitionTime = transition(was, cond, c.Now)
		}
	}
}

// transition is when a condition got its status: now, unless it had it before.
func transition(was *certificatesv1.CertificateSigningRequest, cond *certificatesv1.CertificateSigningRequestCondition, now metav1.Time) metav1.Time {
	for _, before := range was.Status.Conditions {
		if before.Type == cond.Type && before.Status == cond.Status && !before.LastTransitionTime.IsZero() {
			return before.LastTransitionTime
		}
	}
	return now
}

var keyUsages = []certificatesv1.KeyUsage{
	"any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only",
	"digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement",
	"key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping",
}

const leastCertificateSeconds = 600

func validateSigningRequest(s *certificatesv1.CertificateSigningRequestSpec) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if err := parseRequest(s.Request); err != nil {
		errs = append(errs, field.Invalid(p.Child("request"), s.Request, err.Error()))
	}
	if len(s.Usages) == 0 {
		errs = append(errs, field.Required(p.Child("usages"), ""))
	}
	seen := map[certificatesv1.KeyUsage]bool{}
	for i, u := range s.Usages {
		errs = append(errs, oneOf(p.Child("usages").Index(i), u, keyUsages...)...)
		if seen[u] {
			errs = append(errs, field.Duplicate(p.Child("usages").Index(i), u))
		}
		seen[u] = true
	}
	if s.SignerName == "kubernetes.io/legacy-unknown" {
		errs = append(errs, field.Invalid(p.Child("signerName"), s.SignerName, "the legacy signerName is not allowed via this API version"))
	} else {
		errs = append(errs, validateSigner(s.SignerName, p.Child("signerName"))...)
	}
	if n := s.ExpirationSeconds; n != nil && *n < leastCertificateSeconds {
		errs = append(errs, field.Invalid(p.Child("expirationSeconds"), *n, "may not specify a duration less than 600 seconds (10 minutes)"))
	}
	return errs
}

func parseRequest(data []byte) error {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

func validateSigner(name string, p *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	domain, rest, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(rest, "/") {
		return field.ErrorList{field.Invalid(p, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Subdomain(domain) {
		errs = append(errs, field.Invalid(p, domain, "validating label \""+domain+"\": "+msg))
	}
	if len(strings.Split(domain, ".")) < 2 {
		errs = append(errs, field.Invalid(p, domain, "should be a domain with at least two segments separated by dots"))
	}
	for _, msg := range validation.IsDNS1123Subdomain(rest) {
		errs = append(errs, field.Invalid(p, rest, "validating label \""+rest+"\": "+msg))
	}
	return errs
}

// validateSigning checks a change of the status, by approval or by status.
func validateSigning(obj, old Object, approval bool) field.ErrorList {
	r, was := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	p := field.NewPath("status", "conditions")
	errs := validateSigningConditions(r, p)
	if !bytes.Equal(r.Status.Certificate, was.Status.Certificate) {
		if err := parseCertificates(r.Status.Certificate); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("status", "certificate"), "<certificate data>", err.Error()))
		}
	}
	for _, kind := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		now, before := len(conditionsOf(r, kind)), len(conditionsOf(was, kind))
		switch {
		case now < before:
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("updates may not remove a condition of type %q", kind)))
		case now > before && !approval && kind != certificatesv1.CertificateFailed:
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("updates may not add a condition of type %q", kind)))
		}
	}
	if len(was.Status.Certificate) > 0 && !bytes.Equal(r.Status.Certificate, was.Status.Certificate) {
		errs = append(errs, field.Forbidden(field.NewPath("status", "certificate"), "updates may not modify existing certificate content"))
	}
	return errs
}

func validateSigningConditions(r *certificatesv1.CertificateSigningRequest, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, c := range r.Status.Conditions {
		if c.Type == "" {
			errs = append(errs, field.Required(p.Index(i).Child("type"), ""))
		}
		allowed := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		decided := c.Type == certificatesv1.CertificateApproved || c.Type == certificatesv1.CertificateDenied
		if decided || c.Type == certificatesv1.CertificateFailed {
			allowed = []corev1.ConditionStatus{corev1.ConditionTrue}
		}
		errs = append(errs, oneOf(p.Index(i).Child("status"), c.Status, allowed...)...)
		if decided && (seen[certificatesv1.CertificateApproved] || seen[certificatesv1.CertificateDenied]) && !seen[c.Type] {
			errs = append(errs, field.Invalid(p, c.Type, "Approved and Denied conditions are mutually exclusive"))
		}
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(p.Index(i).Child("type"), c.Type))
		}
		seen[c.Type] = true
	}
	return errs
}

func parseCertificates(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	found := false
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return errors.New("no PEM block headers are permitted")
		}
		if _, err := x509.ParseCertificates(block.Bytes); err != nil {
			return err
		}
		found, data = true, rest
	}
	if !found {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	return nil
}
