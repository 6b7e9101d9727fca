package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/hsm"
	"github.com/seedbed-sim/seedbed/realmode/kms/localkey"
	"github.com/seedbed-sim/seedbed/realmode/kms/memory"
	"github.com/seedbed-sim/seedbed/realmode/kms/vault"
)

// run is the plugin, from its start until ctx ends.
func (o *options) run(ctx context.Context, log logr.Logger) error {
	// What this process makes is for nobody else, whatever the caller's mask is.
	syscall.Umask(0o077)
	if err := o.protect(log); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	provider, err := o.newProvider(registry)
	if err != nil {
		return err
	}
	// From now on, so that one that comes early does not end the process.
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	server, err := kms.Start(ctx, kms.Config{
		Path: o.path, TakeOver: o.takeOver, SharedDirectory: o.sharedDirectory, Provider: provider,
		ProbeInterval: o.probeInterval, CallTimeout: o.callTimeout, DrainTimeout: o.drainTimeout,
		Clock: clock.New(), Log: log, Registerer: registry,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was told to stop
		}
		return err
	}
	go func() {
		for {
			select {
			case <-hangUps:
				server.Look()
			case <-ctx.Done():
				return
			}
		}
	}()
	end, err := o.serve(ctx, server, registry, log)
	if err != nil {
		stopped, cancel := context.WithCancel(ctx)
		cancel()
		ended := server.Run(stopped)
		if ended != nil || ctx.Err() != nil { // told to stop meanwhile
			return ended
		}
		return err
	}
	defer end()
	if err := server.Run(ctx); err != nil {
		return err
	}
	log.Info("Has stopped, as it was told to")
	return nil
}

// newProvider returns the provider that the flags ask for, which may count requests.
func (o *options) newProvider(registry *prometheus.Registry) (p kms.Provider, err error) {
	switch o.provider {
	case ofAVault:
		p, err = vault.New(o.vaultConfig(registry))
	case inAToken:
		p, err = hsm.New(o.hsm)
	default:
		p = localkey.New(o.keyFile)
	}
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--provider %s: %w", o.provider, err))
	}
	return p, nil
}

func (o *options) vaultConfig(registry *prometheus.Registry) vault.Config {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "seedbed_kms_vault_requests_total", Help: "Requests to the Vault, by operation and the status of the answer.",
	}, []string{"operation", "status"})
	registry.MustRegister(requests)
	cfg := o.vault
	cfg.Clock = clock.New()
	cfg.Count = func(operation, status string) { requests.WithLabelValues(operation, status).Inc() }
	return cfg
}

// protect keeps memory from where it does not belong.
func (o *options) protect(log logr.Logger) error {
	err := memory.Protect()
	switch {
	case err == nil:
		log.Info("Memory is locked, and kept from core dumps")
	case o.lockedMemory:
		return daemon.Usage(fmt.Errorf("--require-locked-memory: %w", err))
	default:
		log.Info("Memory is not protected in full: keys may get into a swap file", "reason", err.Error())
	}
	return nil
}

// portWait is how long a plugin that is taken over may keep its port.
const (
	portWait     = 20 * time.Second
	portInterval = 100 * time.Millisecond
)

// serve serves the endpoints until end is called.
func (o *options) serve(ctx context.Context, server *kms.Server, registry *prometheus.Registry, log logr.Logger) (end func(), err error) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "seedbed_kms_healthy", Help: "Whether the key works and the socket is there.",
	}, func() float64 {
		if server.Ready() != nil {
			return 0
		}
		return 1
	}))
	if o.listen == "" {
		return func() {}, nil
	}
	listener, err := o.bind(ctx)
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--listen: %w", err))
	}
	endpoints := &daemon.Endpoints{Ready: server.Ready, Metrics: metricsOf(registry)}
	return endpoints.Serve(listener, log), nil
}

// bind takes the address of the endpoints, when the plugin that is taken over has left it.
func (o *options) bind(ctx context.Context) (net.Listener, error) {
	for began := time.Now(); ; {
		listener, err := net.Listen("tcp", o.listen)
		if !o.takeOver || !errors.Is(err, syscall.EADDRINUSE) || time.Since(began) > portWait || clock.New().Sleep(ctx, portInterval) != nil {
			return listener, err
		}
	}
}

func metricsOf(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
