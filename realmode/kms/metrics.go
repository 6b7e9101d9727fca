package kms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// metrics are what the plugin counts. The id of the key is shown as its hash, in the
// form in which API servers show it.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	probes   *prometheus.CounterVec
	keys     *prometheus.GaugeVec
	changes  prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seedbed_kms_requests_total", Help: "Calls of API servers, by method and gRPC code.",
		}, []string{"method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "seedbed_kms_request_duration_seconds", Help: "How long calls of API servers take, by method.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 3, 10},
		}, []string{"method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "seedbed_kms_requests_in_flight", Help: "Calls of API servers that are being answered.",
		}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seedbed_kms_key_probes_total", Help: "Tries of the key, by whether it worked.",
		}, []string{"result"}),
		keys: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "seedbed_kms_key_id_hash", Help: "1 for the version of the key that seals, by the SHA-256 of its id.",
		}, []string{"key_id_hash"}),
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "seedbed_kms_key_id_changes_total", Help: "How often another version of the key came to seal.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.inFlight, m.probes, m.keys, m.changes} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) probed(err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.probes.WithLabelValues(result).Inc()
}

func (m *metrics) changed(before, id string) {
	if before != "" {
		m.keys.DeleteLabelValues(keyIDHash(before))
		m.changes.Inc()
	}
	m.keys.WithLabelValues(keyIDHash(id)).Set(1)
}

func keyIDHash(id string) string {
	hash := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(hash[:])
}

// intercept counts calls.
func (m *metrics) intercept(c clock.Clock) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		m.inFlight.Inc()
		defer m.inFlight.Dec()
		began := c.Monotonic()
		r, err := handler(ctx, req)
		method := path.Base(info.FullMethod)
		m.duration.WithLabelValues(method).Observe(float64(c.Monotonic()-began) / float64(time.Second))
		m.requests.WithLabelValues(method, status.Code(err).String()).Inc()
		return r, err
	}
}
