package main

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/kube"
	"github.com/seedbed-sim/seedbed/realmode/node"
)

const about = `The agents that run on every node.

With --gossip it is a member of the gossip cluster of all nodes: it takes the keys from
their Secret, changes them while it runs, and reports on its Node which it holds, so that
seedbed-controller gossip rotate knows when the next step is safe.

Everything can be said in the file of --config as well, by the names of the flags.

Exit codes: 0 it was told to stop; 1 it could not start or go on; 2 bad flags or a bad
configuration file.`

const example = `  # In a Pod on the node's network, with NODE_NAME and NODE_IP set by the downward API:
  seedbed-node --gossip

  # What the agent of this node knows:
  seedbed-node gossip status`

// options are the flags.
type options struct {
	config, kubeconfig, logFormat, logLevel, listen string

	gossips bool
	address string
	port    uint16
	cfg     node.Config
}

func command(out, log io.Writer) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "seedbed-node", Short: "The agents that run on every node", Long: about, Example: example, Args: daemon.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), log) },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return daemon.Configure(cmd.Flags(), o.config) },
	}
	f := cmd.PersistentFlags()
	f.StringVar(&o.config, "config", "", "YAML file with any of these settings, by the names of their flags without the dashes; flags win")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8091", "address of /healthz, /readyz, /metrics and /gossip; empty for none")
	o.define(cmd.Flags())
	cmd.SetOut(out)
	cmd.AddCommand(gossipCommand(o, out))
	return cmd
}

func (o *options) define(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: as Pods do)")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "error, info or debug")
	f.StringVar(&o.cfg.Node, "node-name", os.Getenv("NODE_NAME"), "name of this node (default $NODE_NAME)")
	f.BoolVar(&o.gossips, "gossip", false, "be a member of the gossip cluster")
	f.StringVar(&o.address, "gossip-address", os.Getenv("NODE_IP"), "internal address of this node, where it gossips (default $NODE_IP)")
	f.Uint16Var(&o.port, "gossip-port", gossipkeys.Port, "port of gossip, the same on all nodes, over TCP and UDP")
	f.StringVar(&o.cfg.Namespace, "gossip-namespace", controller.GossipNamespace, "namespace of the Secret with the gossip keys")
	f.StringVar(&o.cfg.Secret, "gossip-secret", gossipkeys.SecretName, "name of that Secret")
	f.BoolVar(&o.cfg.AcceptPlaintext, "gossip-accept-plaintext", false, "accept what is not encrypted; for the steps that turn encryption on alone")
	f.BoolVar(&o.cfg.SendPlaintext, "gossip-send-plaintext", false, "do not encrypt what is sent; for the steps that turn encryption on alone")
}

var (
	errNoPart = errors.New("nothing is switched on: set --gossip")
	errNoNode = errors.New("--node-name is empty: set it to the name of this node")
)

// run is the process, from its start until ctx ends.
func (o *options) run(ctx context.Context, log io.Writer) error {
	logger, err := daemon.LoggerAt(o.logFormat, o.logLevel, log)
	if err != nil {
		return err
	}
	kube.Quieten(logger)
	switch {
	case !o.gossips:
		return daemon.Usage(errNoPart)
	case o.cfg.Node == "":
		return daemon.Usage(errNoNode)
	}
	address, err := netip.ParseAddr(o.address)
	if err != nil || o.port == 0 {
		return daemon.Usagef("--gossip-address is %q and --gossip-port %d: set them to the internal address of this node and a port", o.address, o.port)
	}
	cfg := o.cfg
	cfg.Addr, cfg.Clock, cfg.Log = netip.AddrPortFrom(address, o.port), clock.New(), logger
	if cfg.Rest, err = kube.LoadConfig(o.kubeconfig); err != nil {
		return err
	}
	failed := live(ctx, cfg, o.listen)
	if ctx.Err() == nil {
		return failed
	}
	if failed != nil && !errors.Is(failed, context.Canceled) {
		logger.Error(failed, "Could not leave the gossip cluster in good order")
	}
	logger.Info("Has stopped, as it was told to")
	return nil
}
