package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/grant"
)

// metrics are what the agent counts.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec // to the API server
	fetches  *prometheus.CounterVec // from the issuer
	losses   prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seedbed_home_kube_requests_total", Help: "Requests to the API server, by what they ask and the status of the answer.",
		}, []string{"verb", "status"}),
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seedbed_home_issuer_requests_total", Help: "Requests to the issuer, by the status of the answer.",
		}, []string{"status"}),
		losses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "seedbed_home_scope_losses_total", Help: "Reasons for which the scope was lost.",
		}),
	}
	m.registry.MustRegister(m.requests, m.fetches, m.losses,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler shows the metrics, with those that state has when it is asked.
func (m *metrics) handler(s *state) http.Handler {
	gauge := func(name, help string, value func(s *state) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(s) }))
	}
	truth := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	gauge("seedbed_home_healthy", "Whether the API server answers for this Pod.", func(s *state) float64 {
		h, _, ok := s.get()
		return truth(ok && h.Healthy())
	})
	gauge("seedbed_home_ready", "Whether a grant has a warm template.", func(s *state) float64 {
		h, _, ok := s.get()
		return truth(ok && h.Ready())
	})
	gauge("seedbed_home_grants_admitted", "Grants that are admitted and have not lapsed.", func(s *state) float64 {
		_, a, ok := s.get()
		if !ok {
			return 0
		}
		return float64(len(a.Admitted()))
	})
	gauge("seedbed_home_epoch", "The epoch of the agent.", func(s *state) float64 {
		_, a, ok := s.get()
		if !ok {
			return 0
		}
		return float64(a.Epoch())
	})
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// countedKube counts the calls to the cluster.
type countedKube struct {
	home.Kube
	metrics *metrics
}

func (k *countedKube) count(verb string, err error) {
	status := "200"
	var api apierrors.APIStatus
	switch {
	case err == nil:
	case errors.As(err, &api):
		status = strconv.Itoa(int(api.Status().Code))
	case errors.Is(err, home.ErrNoResourceClaims):
		status = "unserved"
	default:
		status = "unanswered"
	}
	k.metrics.requests.WithLabelValues(verb, status).Inc()
}

func (k *countedKube) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod, err := k.Kube.GetPod(ctx, namespace, name)
	k.count("get pod", err)
	return pod, err
}

func (k *countedKube) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	ns, err := k.Kube.GetNamespace(ctx, name)
	k.count("get namespace", err)
	return ns, err
}

func (k *countedKube) GetResourceClaim(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	claim, err := k.Kube.GetResourceClaim(ctx, namespace, name)
	k.count("get resourceclaim", err)
	return claim, err
}

func (k *countedKube) PatchPodStatus(ctx context.Context, namespace, name string, patch []byte) error {
	err := k.Kube.PatchPodStatus(ctx, namespace, name, patch)
	k.count("patch pod status", err)
	return err
}

// countedWeb counts the requests to the issuer.
type countedWeb struct {
	home.Web
	metrics *metrics
}

func (w *countedWeb) Get(ctx context.Context, req grant.Request) (grant.Response, error) {
	resp, err := w.Web.Get(ctx, req)
	status := "unanswered"
	if err == nil {
		status = strconv.Itoa(resp.Status)
	}
	w.metrics.fetches.WithLabelValues(status).Inc()
	return resp, err
}
