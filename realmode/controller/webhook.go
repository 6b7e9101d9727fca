package controller

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	realcloak "github.com/seedbed-sim/seedbed/realmode/cloak"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

// Files of a Secret of the type kubernetes.io/tls.
const (
	certFile = "tls.crt"
	keyFile  = "tls.key"
)

// serveWebhook serves the webhook, if it is on, until end is called.
func (p *Process) serveWebhook(ctx context.Context) (end func(), err error) {
	w := p.cfg.Webhook
	if w == nil {
		return func() {}, nil
	}
	certificate, err := certwatcher.New(filepath.Join(w.CertDir, certFile), filepath.Join(w.CertDir, keyFile))
	if err != nil {
		return nil, daemon.Usagef("--webhook-cert-dir %s: expected the files %s and %s of a certificate: %w", w.CertDir, certFile, keyFile, err)
	}
	handler, err := realcloak.Webhook(p.cluster.Live(), p.cfg.Log.WithName("webhook"))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", w.Listen)
	if err != nil {
		return nil, daemon.Usagef("--webhook-listen: %w", err)
	}
	p.cfg.Log.Info("Serves the webhook", "address", listener.Addr().String())
	secure := tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: certificate.GetCertificate})
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := certificate.Start(ctx); err != nil && ctx.Err() == nil {
			p.cfg.Log.Error(err, "The certificate is not read again any more")
		}
	})
	stop := daemon.ServeHTTP(&http.Server{Handler: handler}, secure, p.cfg.Log)
	return func() {
		stop()
		cancel()
		watching.Wait()
	}, nil
}
