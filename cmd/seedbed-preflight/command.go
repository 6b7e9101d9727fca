package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/kms"
)

// options are the flags.
type options struct {
	config        string
	sockets       []string
	callTimeout   time.Duration
	reportTimeout time.Duration
	configHash    string
	podName       string
	podNamespace  string
	kubeconfig    string
	logFormat     string
}

const about = `Try a KMS plugin the way kube-apiserver will use it, before it is given a key.

The first of --kms-sockets is tried in full: it has to become healthy within 30 seconds,
encrypt and decrypt, and keep to all that kube-apiserver will hold it to later. The
others are those that it has to live beside: they only have to answer.

What is tried, how it went, and what the plugin calls its key is reported in the
conditions KMSPreflightConfigHash, KMSPreflightResult and KMSPreflightKekID of this Pod;
list them as its readiness gates. Other conditions are left alone. Its account needs, for
this Pod: patch of pods/status.

Every flag may also be a field of the file --config; flags win.

Exit codes: 0 the plugin is good, and that is reported; 1 it is not, or that could not be
reported; 2 bad flags.`

const example = `  # In a Pod beside the plugins, with POD_NAME and POD_NAMESPACE set by the downward API:
  seedbed-preflight --config-hash k3v9... \
    --kms-sockets unix:///var/run/kmsplugin/kms-2.sock,unix:///var/run/kmsplugin/kms-1.sock`

func command(log io.Writer) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "seedbed-preflight", Short: "Try a KMS plugin before it is given a key", Long: about, Example: example, Args: daemon.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := daemon.Configure(cmd.Flags(), o.config); err != nil {
				return err
			}
			logger, err := daemon.Logger(o.logFormat, log)
			if err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return daemon.Usage(err)
			}
			return o.run(cmd.Context(), logger)
		},
	}
	o.define(cmd.Flags())
	return cmd
}

// define defines the flags.
func (o *options) define(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "YAML file with a field for each flag that is not given")
	f.StringSliceVar(&o.sockets, "kms-sockets", nil, "sockets of plugins, such as unix:///var/run/kmsplugin/kms-1.sock: the one to be tried first (required)")
	f.DurationVar(&o.callTimeout, "kms-call-timeout", 10*time.Second, "how long a call to a plugin may take")
	f.DurationVar(&o.reportTimeout, "report-timeout", 2*time.Minute, "how long a report is tried")
	f.StringVar(&o.configHash, "config-hash", "", "what this Pod was made for (required)")
	f.StringVar(&o.podName, "pod-name", os.Getenv("POD_NAME"), "name of this Pod (default $POD_NAME)")
	f.StringVar(&o.podNamespace, "pod-namespace", os.Getenv("POD_NAMESPACE"), "namespace of this Pod (default $POD_NAMESPACE)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: as Pods do)")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
}

// check checks the flags.
func (o *options) check() error {
	if len(o.sockets) == 0 {
		return errors.New("--kms-sockets is missing: set it to the socket of the plugin, such as unix:///var/run/kmsplugin/kms-1.sock")
	}
	for i, socket := range o.sockets {
		if _, err := kms.SocketPath(socket); err != nil {
			return fmt.Errorf("--kms-sockets: %w", err)
		}
		if slices.Contains(o.sockets[:i], socket) {
			return fmt.Errorf("--kms-sockets names %s twice", socket)
		}
	}
	if o.callTimeout <= 0 || o.reportTimeout <= 0 {
		return errors.New("--kms-call-timeout and --report-timeout have to be more than nothing, such as 10s")
	}
	if o.configHash == "" {
		return errors.New("--config-hash is missing: set it to what the Pod was made for")
	}
	if problems := validation.IsDNS1123Subdomain(o.podName); len(problems) > 0 {
		return fmt.Errorf("--pod-name is %q: set it to the name of this Pod", o.podName)
	}
	if problems := validation.IsDNS1123Label(o.podNamespace); len(problems) > 0 {
		return fmt.Errorf("--pod-namespace is %q: set it to the namespace of this Pod", o.podNamespace)
	}
	return nil
}

// restConfig says how to reach the API server.
func (o *options) restConfig() (*rest.Config, error) {
	if o.kubeconfig == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, daemon.Usage(fmt.Errorf("this is no Pod, so set --kubeconfig: %w", err))
		}
		return cfg, nil
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--kubeconfig %s: %w", o.kubeconfig, err))
	}
	return cfg, nil
}
