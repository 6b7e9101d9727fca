package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
	realhome "github.com/seedbed-sim/seedbed/realmode/home"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// options are the flags.
type options struct {
	home       home.Config
	family     string
	kubeconfig string
	stateDir   string
	listen     string
	warm       string
	logFormat  string
	cgroup     bool
}

const about = `The agent of a grant Pod.

It runs as the Pod's one container. It fetches the Pod's grant from the controller
with the Pod's bound service-account token, renews it at half its lease, and builds
the template that the grant allows. While a template is warm the Pod's condition
fiberd.io/zygote-ready is True; list it as a readiness gate of the Pod.

The control plane counts as alive while the API server answers for this Pod. When the
Pod, its namespace or its resource claims go away under it, the agent's epoch grows,
which fences off everything that runs. It starts and works while the API server is
down.

Its account needs, in its namespace: get of pods, namespaces and, for Pods with claims,
of resourceclaims of resource.k8s.io; patch of pods/status.

The file cmd/seedbed-home/pod.yaml is a Pod with all of that.

Exit codes: 0 it was told to stop; 1 it could not start or go on; 2 bad flags.`

const example = `  # In a Pod, with POD_NAME, POD_NAMESPACE and POD_UID set by the downward API and a
  # token for the audience of the controller mounted:
  seedbed-home --grants-dir /var/lib/fiberd/grants --state-dir /var/lib/fiberd/state \
    --grant-token-file /var/run/secrets/grant/token \
    --grant-issuer-url https://controller.example.com

  # On a laptop, beside a cluster of seedbed serve with the Pod default/grant-0, where
  # grants are put into a directory by hand. They are admitted if their issuer can be
  # asked for its keys:
  seedbed-home --kubeconfig ./kubeconfig --pod-name grant-0 --pod-namespace default \
    --pod-uid "$(kubectl get pod grant-0 -o jsonpath={.metadata.uid})" \
    --grants-dir ./grants --state-dir ./state --grant-issuer-url https://controller.example.com`

func command(log io.Writer) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "seedbed-home", Short: "The agent of a grant Pod", Long: about, Example: example,
		Args: daemon.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := daemon.Logger(o.logFormat, log)
			if err != nil {
				return err
			}
			if err := o.finish(logger); err != nil {
				return err
			}
			return o.run(cmd.Context(), logger)
		},
	}
	o.define(cmd.Flags())
	return cmd
}

// define defines the flags.
func (o *options) define(f *pflag.FlagSet) {
	f.StringVar(&o.home.PodName, "pod-name", os.Getenv("POD_NAME"), "name of this Pod (default $POD_NAME)")
	f.StringVar(&o.home.PodNamespace, "pod-namespace", os.Getenv("POD_NAMESPACE"), "namespace of this Pod (default $POD_NAMESPACE)")
	f.StringVar(&o.home.PodUID, "pod-uid", os.Getenv("POD_UID"), "UID of this Pod (default $POD_UID)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: as Pods do)")
	f.DurationVar(&o.home.StaleTTL, "stale-ttl", home.DefaultStaleTTL, "how long the API server may go without answering")
	f.DurationVar(&o.home.Poll, "poll", 0, "how often it is asked, and how long a round may take (default half of --stale-ttl)")
	f.StringVar(&o.home.GrantsDir, "grants-dir", "", "directory that is polled for *.jwt files, and that the grant is written to")
	f.DurationVar(&o.home.GrantsPoll, "grants-poll", home.DefaultGrantsPoll, "how often the directory is read")
	f.StringVar(&o.home.GrantTokenFile, "grant-token-file", "", "the Pod's bound token, to fetch the grant with; without it grants come as files only")
	f.StringVar(&o.home.GrantIssuerURL, "grant-issuer-url", "", "https URL of the controller that issues and signs grants")
	f.StringVar(&o.home.GrantCAFile, "grant-ca-file", "", "PEM certificates that the controller's must chain to (default: those of the system)")
	f.DurationVar(&o.home.GrantFetchTimeout, "grant-fetch-timeout", home.DefaultGrantFetchTimeout, "how long the first fetch is tried")
	f.StringVar(&o.family, "family", string(home.Unix), "which Pod IP callers dial: unix (none), inet4 or inet6")
	f.StringArrayVar(&o.home.Devices, "device", nil, "device path or id that this Pod has; may be repeated")
	f.StringVar(&o.home.CgroupRoot, "cgroup-root", "", "cgroup v2 subtree for work")
	f.BoolVar(&o.cgroup, "delegate-cgroup", false, "without --cgroup-root, carve the subtree out of the cgroup of this process")
	f.StringVar(&o.stateDir, "state-dir", "", "directory for the epoch; it must outlive the container (required)")
	f.StringVar(&o.warm, "warm-command", "", "program that builds a template, called with the grant's UID, the digest of its template and the devices (default: a grant is warm at once)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8090", "address of /healthz, /readyz and /metrics, such as :8090 for the probes of a kubelet; empty for none")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
}

// finish fills in what no flag says, but for the cluster, and checks the flags.
func (o *options) finish(log logr.Logger) error {
	o.home.Family = home.Family(o.family)
	o.home.Clock, o.home.Files, o.home.Web, o.home.Logger = clock.New(), realhome.Files{}, realhome.NewWeb(), log
	o.home.Jitter = jitter
	if o.cgroup {
		o.home.Cgroups = realhome.Cgroups{}
	}
	if o.stateDir == "" {
		return daemon.Usage(errors.New("--state-dir is missing: set it to a directory that outlives the container, such as an emptyDir"))
	}
	if o.home.GrantsDir != "" && o.home.GrantIssuerURL == "" {
		return daemon.Usage(errors.New("--grants-dir is set and --grant-issuer-url is missing: grants are verified with the keys of the issuer"))
	}
	if o.warm != "" {
		if _, err := exec.LookPath(o.warm); err != nil {
			return daemon.Usage(fmt.Errorf("--warm-command: %w", err))
		}
	}
	check := o.home
	check.Kube = unconnected
	if err := check.Validate(); err != nil {
		return daemon.Usage(errors.New(inFlags(err.Error())))
	}
	return nil
}

// unconnected stands for the cluster while flags are checked.
var unconnected home.Kube = struct{ home.Kube }{}

// inFlags names flags instead of the fields of the configuration.
func inFlags(text string) string {
	return strings.NewReplacer(
		"config of the home: ", "",
		"PodNamespace", "--pod-namespace", "PodName", "--pod-name", "PodUID", "--pod-uid", "StaleTTL", "--stale-ttl",
		"GrantFetchTimeout", "--grant-fetch-timeout", "GrantsPoll", "--grants-poll", "Poll", "--poll", "GrantsDir", "--grants-dir",
		"GrantTokenFile", "--grant-token-file", "GrantIssuerURL", "--grant-issuer-url", "Family", "--family",
	).Replace(text)
}

// jitter spreads a delay by a fifth in either direction.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// restConfig says how to reach the API server.
func (o *options) restConfig() (*rest.Config, error) {
	cfg, err := kube.LoadConfig(o.kubeconfig)
	if err == nil {
		cfg.QPS = -1 // the home paces itself; a client that waits makes rounds late
	}
	return cfg, err
}
