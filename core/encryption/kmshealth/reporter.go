package kmshealth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/nodestate"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

const (
	// Interval is the time between two reports, and up to Jitter of it more.
	Interval = 30 * time.Second
	Jitter   = 0.1

	// StatusTimeout bounds the question to a plugin, WriteTimeout the report.
	StatusTimeout = 5 * time.Second
	WriteTimeout  = 10 * time.Second

	healthy    = "ok"
	messageMax = 4096
)

// Plugin is one that should run on the node.
type Plugin struct {
	KeyID   uint64
	Service service.Service
}

// Config is what a [Reporter] needs. All fields are required but Log.
type Config struct {
	Live    kube.Kube
	Clock   clock.Clock
	Entropy io.Reader
	Node    string

	// Plugins returns those that should run on the node now.
	Plugins func(ctx context.Context) ([]Plugin, error)

	Log logr.Logger
}

// Reporter reports.
type Reporter struct {
	cfg Config

	// none says that the last report was that there are no plugins.
	none bool
}

// New returns a Reporter that does nothing until Run is called.
func New(cfg Config) *Reporter { return &Reporter{cfg: cfg} }

// Manager is the field manager of a node's reports.
func Manager(node string) string {
	sum := sha256.Sum256([]byte(node))
	return "kms-health-reporter-" + hex.EncodeToString(sum[:])
}

// Run reports until ctx ends. A report that fails is made again with the next.
func (r *Reporter) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.Report(ctx); err != nil {
			r.cfg.Log.Error(err, "The health of KMS plugins could not be reported", "node", r.cfg.Node)
		}
		if r.cfg.Clock.Sleep(ctx, r.interval()) != nil {
			return
		}
	}
}

func (r *Reporter) interval() time.Duration {
	var b [4]byte
	if _, err := io.ReadFull(r.cfg.Entropy, b[:]); err != nil {
		r.cfg.Log.Error(err, "No entropy for the time of the next report")
	}
	share := float64(binary.BigEndian.Uint32(b[:])) / (1 << 32)
	return Interval + time.Duration(share*Jitter*float64(Interval))
}

// Report asks all plugins at once, and reports. That there are none is reported once:
// nothing of such a report grows old.
func (r *Reporter) Report(ctx context.Context) error {
	plugins, err := r.cfg.Plugins(ctx)
	if err != nil {
		return fmt.Errorf("find the KMS plugins of node %s: %w", r.cfg.Node, err)
	}
	plugins = slices.SortedFunc(slices.Values(plugins), func(a, b Plugin) int { return cmp.Compare(b.KeyID, a.KeyID) })
	health := make([]v1alpha1.PluginHealth, len(plugins))
	group := r.cfg.Clock.NewGroup(ctx)
	for i, p := range plugins {
		group.Go("probe the KMS plugin of key "+strconv.FormatUint(p.KeyID, 10), func(ctx context.Context) { health[i] = r.probe(ctx, p) })
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("probe the KMS plugins of node %s: %w", r.cfg.Node, err)
	}
	if r.none && len(health) == 0 {
		return nil
	}
	forms := make([]any, len(health))
	for i := range health {
		if forms[i], err = runtime.DefaultUnstructuredConverter.ToUnstructured(&health[i]); err != nil {
			return fmt.Errorf("encode the health of a KMS plugin: %w", err)
		}
	}
	ctx, cancel := r.cfg.Clock.WithTimeout(ctx, WriteTimeout)
	defer cancel()
	status := map[string]any{}
	if len(forms) > 0 { // a list that was and is empty becomes null, which API servers refuse
		status["plugins"] = forms
	}
	if err := nodestate.Apply(ctx, r.cfg.Live, r.cfg.Node, Manager(r.cfg.Node), status); err != nil {
		return err
	}
	r.none = len(health) == 0
	return nil
}

var errNoKeyID = errors.New("it gives its key no id that API servers take")

// probe asks a plugin how it is.
func (r *Reporter) probe(ctx context.Context, p Plugin) v1alpha1.PluginHealth {
	ctx, cancel := r.cfg.Clock.WithTimeout(ctx, StatusTimeout)
	defer cancel()
	h := v1alpha1.PluginHealth{KeyID: strconv.FormatUint(p.KeyID, 10), Status: v1alpha1.PluginHealthy}
	status, err := p.Service.Status(ctx)
	switch {
	case err != nil:
		h.Status, h.Message = v1alpha1.PluginError, err.Error()
	case status.Healthz != healthy:
		h.Status, h.Message = v1alpha1.PluginUnhealthy, status.Healthz
	case status.KeyID == "" || len(status.KeyID) > keyIDMax:
		h.Status, h.Message = v1alpha1.PluginError, errNoKeyID.Error()
	default:
		h.KEKID = status.KeyID
	}
	h.Message = h.Message[:min(len(h.Message), messageMax)]
	h.LastChecked = metav1.NewTime(r.cfg.Clock.Now()).Rfc3339Copy()
	return h
}

// keyIDMax is what an API server allows, in bytes.
const keyIDMax = 1024
