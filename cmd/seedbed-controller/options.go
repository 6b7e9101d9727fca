package main

import (
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/leaderelection"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// options are the flags.
type options struct {
	config, kubeconfig  string
	logFormat, logLevel string
	listen              string

	cfg        controller.Config
	encryption controller.Encryption
	gossip     controller.Gossip
	webhook    controller.Webhook

	encrypts, gossips, serves bool
	resources                 []string
	selector                  string
}

// defineShared defines the flags of all commands.
func (o *options) defineShared(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "YAML file with any of these settings, by the names of their flags without the dashes; flags win")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: as Pods do)")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "error, info or debug")
	f.StringVar(&o.gossip.Namespace, "gossip-namespace", controller.GossipNamespace, "namespace of the Secret with the gossip keys")
	f.StringVar(&o.gossip.Secret, "gossip-secret", gossipkeys.SecretName, "name of that Secret")
}

// define defines the flags of the process.
func (o *options) define(f *pflag.FlagSet) {
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		namespace = controller.Namespace
	}
	f.StringVar(&o.listen, "listen", "127.0.0.1:8090", "address of /healthz, /readyz and /metrics, such as :8090 for the probes of a kubelet; empty for none")
	f.StringVar(&o.cfg.Namespace, "namespace", namespace, "namespace of the Lease by which one of all replicas leads (default $POD_NAMESPACE, or "+controller.Namespace+")")
	f.StringVar(&o.cfg.Identity, "identity", "", "what this process is called in the Lease; no other may be, or have been (default: name of the machine and a random text)")
	f.DurationVar(&o.cfg.LeaseDuration, "lease-duration", leaderelection.LeaseDuration, "how long others wait after the leader has last renewed its Lease")
	f.DurationVar(&o.cfg.RenewDeadline, "renew-deadline", leaderelection.RenewDeadline, "how long a leader goes on that cannot renew it")
	f.DurationVar(&o.cfg.RetryPeriod, "retry-period", leaderelection.RetryPeriod, "the time between attempts")
	f.Float32Var(&o.cfg.QPS, "kube-api-qps", kube.QPS, "requests to the API server in a second; below zero for no limit")
	f.IntVar(&o.cfg.Burst, "kube-api-burst", kube.Burst, "requests to the API server at once")

	f.BoolVar(&o.encrypts, "encryption", false, "keep objects encrypted in etcd")
	f.StringVar(&o.encryption.Component, "encryption-component", controller.Component, "name of the API servers in the names of Secrets")
	f.StringVar(&o.encryption.Namespace, "encryption-namespace", controller.EncryptionNamespace, "namespace of keys and configurations")
	f.StringVar(&o.encryption.References, "encryption-references-namespace", controller.References, "namespace of what KMS plugins refer to")
	f.StringSliceVar(&o.resources, "encryption-resources", []string{"secrets"}, "resources that the policy may name, to which the account needs rights; those of a group as in deployments.apps")
	f.BoolVar(&o.encryption.UpdatePlugins, "encryption-update-plugins", true, "let changes of how a KMS plugin is run reach running plugins, with no new key")
	f.StringVar(&o.encryption.PreflightImage, "kms-preflight-image", controller.PreflightImage, "image of the container that tries a KMS plugin before it is used")
	f.StringVar(&o.encryption.ServersNamespace, "apiserver-namespace", controller.ServersNamespace, "namespace of the Pods of API servers")
	f.StringVar(&o.selector, "apiserver-selector", controller.ServersSelector, "labels of the Pods of API servers")

	f.BoolVar(&o.gossips, "gossip-keys", false, "keep the keys of gossip, and carry on rotations")

	f.BoolVar(&o.cfg.Shadows, "cloak-shadows", false, "keep the shadows of protected Secrets")
	f.BoolVar(&o.serves, "cloak-webhook", false, "serve the cloak's webhook")
	f.StringVar(&o.webhook.Listen, "webhook-listen", ":9443", "address of the webhook")
	f.StringVar(&o.webhook.CertDir, "webhook-cert-dir", "/var/run/secrets/seedbed-webhook", "directory with tls.crt and tls.key of the webhook; they are read again when they change")
}

// finish makes a configuration of the flags.
func (o *options) finish(log logr.Logger) (controller.Config, error) {
	cfg := o.cfg
	cfg.Clock, cfg.Entropy, cfg.Log = clock.New(), rand.Reader, log
	if o.encrypts {
		if err := o.encrypted(); err != nil {
			return cfg, err
		}
		cfg.Encryption = &o.encryption
	}
	if o.gossips {
		cfg.Gossip = &o.gossip
	}
	if o.serves {
		cfg.Webhook = &o.webhook
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"--lease-duration", cfg.LeaseDuration}, {"--renew-deadline", cfg.RenewDeadline}, {"--retry-period", cfg.RetryPeriod}} {
		if d.value <= 0 {
			return cfg, daemon.Usagef("%s is %s: set it to a time above zero", d.flag, d.value)
		}
	}
	if cfg.RetryPeriod >= cfg.RenewDeadline || cfg.RenewDeadline >= cfg.LeaseDuration {
		return cfg, daemon.Usagef("expected --retry-period < --renew-deadline < --lease-duration, and they are %s, %s and %s", cfg.RetryPeriod, cfg.RenewDeadline, cfg.LeaseDuration)
	}
	var err error
	if cfg.Identity == "" {
		if cfg.Identity, err = identity(); err != nil {
			return cfg, err
		}
	}
	if err := cfg.Validate(); err != nil {
		return cfg, daemon.Usage(err)
	}
	cfg.Rest, err = kube.LoadConfig(o.kubeconfig)
	return cfg, err
}

var errNoResource = errors.New("--encryption-resources is empty: name what is to be encrypted, such as secrets")

func (o *options) encrypted() error {
	e := &o.encryption
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return daemon.Usagef("--apiserver-selector: %w", err)
	}
	if selector.Empty() {
		return daemon.Usagef("--apiserver-selector is empty: all Pods of %s would be API servers", e.ServersNamespace)
	}
	e.ServersSelector = selector
	for _, r := range o.resources {
		if r = strings.TrimSpace(r); r != "" {
			e.Resources = append(e.Resources, schema.ParseGroupResource(r))
		}
	}
	if len(e.Resources) == 0 {
		return daemon.Usage(errNoResource)
	}
	return nil
}
