package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	"k8s.io/client-go/rest"
	"k8s.io/kms/pkg/service"
	"sigs.k8s.io/controller-runtime/pkg/client"

	coreclock "github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/kmscheck"
	"github.com/seedbed-sim/seedbed/realmode/clock"
)

// run tries the plugin and reports. A report that fails is tried again: without it,
// nobody knows how it went.
func (o *options) run(ctx context.Context, log logr.Logger) error {
	cfg, err := o.restConfig()
	if err != nil {
		return err
	}
	live, err := connect(cfg)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	plugins := make([]service.Service, len(o.sockets))
	for i, socket := range o.sockets {
		// The client of API servers themselves.
		if plugins[i], err = kmsv2.NewGRPCService(ctx, socket, socket, o.callTimeout); err != nil {
			return fmt.Errorf("connect to the plugin at %s: %w", socket, err)
		}
	}
	c := clock.New()
	r := &reports{clock: c, timeout: o.reportTimeout, log: log, to: &kmscheck.Reporter{
		Live: live, Clock: c, Pod: client.ObjectKey{Namespace: o.podNamespace, Name: o.podName}, ConfigHash: o.configHash,
	}}
	if err := r.send(ctx, r.to.Started); err != nil {
		return err
	}
	log.Info("Tries the plugin", "socket", o.sockets[0], "beside", len(o.sockets)-1, "configHash", o.configHash)
	kekID, result := kmscheck.Check(ctx, kmscheck.Config{Plugins: plugins, CallTimeout: o.callTimeout, Clock: c, Entropy: rand.Reader})
	if ctx.Err() != nil {
		return errors.New("told to stop before the check was over")
	}
	if err := r.send(ctx, func(ctx context.Context) error { return r.to.Ended(ctx, kekID, result) }); err != nil {
		if result != nil {
			err = fmt.Errorf("%w; %w", result, err)
		}
		return err
	}
	if result != nil {
		return fmt.Errorf("the plugin at %s failed the check: %w", o.sockets[0], result)
	}
	log.Info("The plugin is good", "socket", o.sockets[0], "keyID", kekID)
	return nil
}

// connect returns a client that makes no request but those that it is told to make.
func connect(cfg *rest.Config) (client.Client, error) {
	http, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return client.New(cfg, client.Options{HTTPClient: http, Mapper: mapper})
}

// reportInterval is the pause before a report is tried again.
const reportInterval = time.Second

// reports are what is written into the Pod's status.
type reports struct {
	to      *kmscheck.Reporter
	clock   coreclock.Clock
	timeout time.Duration
	log     logr.Logger
}

// send sends a report until it has arrived, or there was enough time for it.
func (r *reports) send(ctx context.Context, report func(context.Context) error) error {
	ctx, cancel := r.clock.WithTimeout(ctx, r.timeout)
	defer cancel()
	for {
		err := report(ctx)
		if err == nil {
			return nil
		}
		if r.clock.Sleep(ctx, reportInterval) != nil {
			return fmt.Errorf("report: %w", err)
		}
		r.log.Info("Cannot report yet, and tries again", "reason", err.Error())
	}
}
