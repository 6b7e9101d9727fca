package controller

import (
	"errors"
	"io"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// Names that hold unless a process is told otherwise.
const (
	Namespace           = "seedbed-system"            // of the process and its Lease
	LeaseName           = "seedbed-controller"        // and the component of Events
	Component           = "apiserver"                 // whose objects are encrypted
	EncryptionNamespace = "seedbed-encryption"        // of keys and configurations
	References          = "seedbed-encryption-config" // of what KMS plugins refer to
	ServersNamespace    = "kube-system"               // of the Pods of API servers
	ServersSelector     = "component=kube-apiserver"
	PreflightImage      = "seedbed-preflight"
	GossipNamespace     = "kube-system"
)

// Config is what a process is told. Parts that are nil are off, and one must be on.
type Config struct {
	Rest *rest.Config

	// Namespace of the Lease, and Identity of this process, which no other has or had.
	Namespace, Identity string

	// Periods of the Lease; zero means those of core/leaderelection.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	// QPS and Burst bound requests; zero means those of realmode/kube. The Lease is
	// renewed beside them.
	QPS   float32
	Burst int

	Encryption *Encryption
	Gossip     *Gossip
	Shadows    bool
	Webhook    *Webhook

	Clock   clock.Clock
	Entropy io.Reader
	Log     logr.Logger
}

// Encryption is the part that encrypts objects.
type Encryption struct {
	Component, Namespace, References string

	// ServersNamespace and ServersSelector are those of the Pods of API servers.
	ServersNamespace string
	ServersSelector  labels.Selector

	// Resources are what a policy may name: the account needs rights to them.
	Resources []schema.GroupResource

	// UpdatePlugins lets a change of how a KMS plugin is run reach running plugins.
	UpdatePlugins bool

	// PreflightImage is that of the container that tries KMS plugins.
	PreflightImage string
}

// DefaultEncryption is the part as it is unless a process is told otherwise.
func DefaultEncryption() *Encryption {
	selector, err := labels.Parse(ServersSelector)
	if err != nil {
		panic(err) // it is a constant
	}
	return &Encryption{
		Component: Component, Namespace: EncryptionNamespace, References: References,
		ServersNamespace: ServersNamespace, ServersSelector: selector, Resources: Secrets(),
		UpdatePlugins: true, PreflightImage: PreflightImage,
	}
}

// Gossip is the part that keeps and rotates the keys of gossip.
type Gossip struct {
	// Namespace and Secret say where the keys are; an empty Secret means that of
	// core/gossipkeys.
	Namespace, Secret string
}

// Webhook is the part that serves the cloak's webhook.
type Webhook struct {
	// Listen is an address, such as :9443.
	Listen string

	// CertDir holds tls.crt and tls.key, which are read again when they change.
	CertDir string
}

var errNoPart = errors.New("nothing is switched on: set --encryption, --gossip-keys, --cloak-shadows or --cloak-webhook")

// Validate returns what is wrong with the parts.
func (c *Config) Validate() error {
	if c.Encryption == nil && c.Gossip == nil && !c.Shadows && c.Webhook == nil {
		return errNoPart
	}
	return nil
}
