package main

import (
	"context"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

// live runs a process and its endpoints.
func live(ctx context.Context, cfg controller.Config, listen string) error {
	p, err := controller.New(cfg)
	if err != nil {
		return err
	}
	endpoints := &daemon.Endpoints{Ready: p.Ready, Metrics: metrics(&cfg, p)}
	end, err := endpoints.Listen(listen, cfg.Log)
	if err != nil {
		return err
	}
	defer end()
	return p.Run(ctx)
}

// metrics shows those of the process, and those of controller-runtime and client-go about
// queues, reconciles and requests.
func metrics(cfg *controller.Config, p *controller.Process) http.Handler {
	registry := prometheus.NewRegistry()
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	truth := func(is func() bool) func() float64 {
		return func() float64 {
			if is() {
				return 1
			}
			return 0
		}
	}
	gauge("seedbed_controller_build_info", "What was built: always 1.",
		prometheus.Labels{"version": daemon.Build(), "goversion": runtime.Version()}, truth(func() bool { return true }))
	gauge("seedbed_controller_leader", "Whether this process leads.", nil, truth(p.Leads))
	gauge("seedbed_controller_epoch", "The number of the leadership of this process; 0 before its first.", nil, func() float64 { return float64(p.Epoch()) })
	for part, on := range map[string]bool{
		"encryption": cfg.Encryption != nil, "gossip-keys": cfg.Gossip != nil, "cloak-shadows": cfg.Shadows, "cloak-webhook": cfg.Webhook != nil,
	} {
		gauge("seedbed_controller_part_enabled", "Whether a part is switched on.", prometheus.Labels{"part": part}, truth(func() bool { return on }))
	}
	return promhttp.HandlerFor(prometheus.Gatherers{registry, ctrlmetrics.Registry}, promhttp.HandlerOpts{})
}
