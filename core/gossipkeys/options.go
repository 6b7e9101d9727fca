package gossipkeys

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// Names and periods that hold unless an option says otherwise.
const (
	SecretName = "antrea-memberlist-keys"
	DataKey    = "keys" // the entry of the Secret's data that holds the list

	LabelKey   = "app" // the label the Secret is created with
	LabelValue = "antrea"

	Port = 10351 // where agents gossip; memberlist's own default is 7946

	ProvisionRetryMin = 5 * time.Second // doubling, without jitter
	ProvisionRetryMax = 60 * time.Second

	WatchRetryMin = time.Second // of reads that fail; the watch itself is the driver's
	WatchRetryMax = 60 * time.Second

	ApplyRetryMin = 5 * time.Second // doubling, without jitter
	ApplyRetryMax = 300 * time.Second

	NoKeyWarningInterval = 60 * time.Second
	RejoinInterval       = 60 * time.Second
	LeaveTimeout         = time.Second

	// SettleTime is how long the Rotator waits, once all nodes report, before
	// it removes a key: memberlist's TCPTimeout in its LAN configuration, the
	// longest that a stream encrypted with that key can still be under way.
	SettleTime = 10 * time.Second

	// GoneAfter is how long a Node must not have been Ready before the Rotator
	// goes on without it.
	GoneAfter = time.Hour
)

// Option changes how a part of this package behaves. Each says which parts it
// is for; the others ignore it.
type Option func(*settings)

type settings struct {
	secret    types.NamespacedName
	dataKey   string
	labels    map[string]string
	log       logr.Logger
	live      kube.Reader
	onVersion func(Version, Keys)
	nodes     labels.Selector
	settle    time.Duration
	goneAfter time.Duration
}

func newSettings(namespace string, opts []Option) settings {
	s := settings{
		secret:    types.NamespacedName{Namespace: namespace, Name: SecretName},
		dataKey:   DataKey,
		labels:    map[string]string{LabelKey: LabelValue},
		log:       logr.Discard(),
		nodes:     labels.Everything(),
		settle:    SettleTime,
		goneAfter: GoneAfter,
	}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

// request is the one item in the queues of this package's controllers: all
// there is to reconcile is one Secret.
func (s *settings) request() reconcile.Request {
	return reconcile.Request{NamespacedName: s.secret}
}

// WithSecret gives the Secret another name and its data entry another key; an
// empty string keeps the default. Every part that shares the Secret needs it.
func WithSecret(name, dataKey string) Option {
	return func(s *settings) {
		if name != "" {
			s.secret.Name = name
		}
		if dataKey != "" {
			s.dataKey = dataKey
		}
	}
}

// WithLabels replaces the labels with which the Provisioner creates the Secret.
func WithLabels(labels map[string]string) Option {
	return func(s *settings) { s.labels = labels }
}

// WithLogger makes a part say what it does. Without it all are silent.
func WithLogger(log logr.Logger) Option {
	return func(s *settings) { s.log = log }
}

// WithLiveStart makes the SecretWatcher confirm the first list it finds in its
// cache with one read through live. A process that has just started may watch
// through an API server that lags, and would begin with a list from the past:
// a Rotator that has heard of the newest one from this node has moved on since.
func WithLiveStart(live kube.Reader) Option {
	return func(s *settings) { s.live = live }
}

// WithVersions makes the SecretWatcher call onVersion for every valid state of
// the Secret, before it delivers the keys, and also when there is nothing to
// deliver because only the version is new. It is called as onKeys is.
func WithVersions(onVersion func(v Version, keys Keys)) Option {
	return func(s *settings) { s.onVersion = onVersion }
}

// WithNodes says which Nodes run an agent: NodePeers and the Rotator leave the
// others alone. Without it all do.
func WithNodes(nodes labels.Selector) Option {
	return func(s *settings) { s.nodes = nodes }
}

// WithSettleTime replaces SettleTime in the Rotator. It must be no less than
// the TCPTimeout of the instances.
func WithSettleTime(d time.Duration) Option {
	return func(s *settings) { s.settle = d }
}

// WithGoneAfter replaces GoneAfter in the Rotator. Zero means never: a Node
// counts for as long as it exists.
func WithGoneAfter(d time.Duration) Option {
	return func(s *settings) { s.goneAfter = d }
}
