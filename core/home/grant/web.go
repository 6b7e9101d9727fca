package grant

import (
	"context"
	"crypto/x509"
	"errors"

	"github.com/seedbed-sim/seedbed/core/secret"
)

// Request is a GET.
type Request struct {
	URL string

	// Bearer is sent as a bearer token, if there is one.
	Bearer secret.Bytes

	// Roots are the PEM certificates that the server's must chain to. Empty means
	// the roots of the system.
	Roots []byte

	// Limit is how many bytes of the body are read at most.
	Limit int
}

// Response is the answer to a Request, whatever its status.
type Response struct {
	Status     int
	RetryAfter string // the header
	Body       []byte
}

// Web makes HTTPS requests, with TLS 1.2 at least. It follows no redirects, which
// would carry a bearer token away: a redirect is an answer as any other. Its errors do
// not hold the token. It may be called from several tasks.
type Web interface {
	Get(ctx context.Context, req Request) (Response, error)
}

// CheckRoots reports whether roots hold any certificate.
func CheckRoots(roots []byte) error {
	if !x509.NewCertPool().AppendCertsFromPEM(roots) {
		return errors.New("there is no certificate in it: it must hold PEM blocks of type CERTIFICATE")
	}
	return nil
}
