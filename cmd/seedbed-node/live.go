package main

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/node"
)

// live runs a process and its endpoints.
func live(ctx context.Context, cfg node.Config, listen string) error {
	p, err := node.New(cfg)
	if err != nil {
		return err
	}
	endpoints := &daemon.Endpoints{Ready: p.Ready, Metrics: metrics(p), More: map[string]http.Handler{gossipPath: status(p)}}
	end, err := endpoints.Listen(listen, cfg.Log)
	if err != nil {
		return err
	}
	defer end()
	return p.Run(ctx)
}

const gossipPath = "/gossip"

// status tells what the agent knows, as JSON.
func status(p *node.Process) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, err := json.Marshal(p.Status())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who asks has gone
	})
}

// metrics shows those of the process, and those of controller-runtime and client-go.
func metrics(p *node.Process) http.Handler {
	registry := prometheus.NewRegistry()
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	gauge("seedbed_node_build_info", "What was built: always 1.",
		prometheus.Labels{"version": daemon.Build(), "goversion": runtime.Version()}, func() float64 { return 1 })
	gauge("seedbed_node_gossip_members", "Members of the gossip cluster, as this node sees it.", nil, func() float64 { return float64(len(p.Status().Members)) })
	gauge("seedbed_node_gossip_generation", "Generation of the key list that this node has reported.", nil, func() float64 {
		if r := p.Status().Report; r != nil {
			return float64(r.Generation)
		}
		return 0
	})
	return promhttp.HandlerFor(prometheus.Gatherers{registry, ctrlmetrics.Registry}, promhttp.HandlerOpts{})
}
