package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

const about = `The controllers that run once in a cluster.

Each part is switched on by itself:

  --encryption      keeps the objects of a cluster encrypted in etcd, as the
                    EncryptionPolicy "cluster" says
  --gossip-keys     keeps the Secret with the keys of the node agents' gossip, and
                    carries on rotations
  --cloak-shadows   keeps a shadow beside each Secret that is protected
  --cloak-webhook   gives Pods the shadows, and refuses what cannot be protected

All replicas serve the webhook; one of them leads by a Lease, and runs the controllers.
A process asks first whether the kinds and the permissions that its parts need are there,
and ends with one line if not. realmode/deploy has manifests with exactly those.

Everything can be said in the file of --config as well, by the names of the flags:

  encryption: true
  gossip-keys: true
  apiserver-selector: component=kube-apiserver

Exit codes: 0 it was told to stop; 1 it could not start or go on; 2 bad flags or a bad
configuration file.`

const example = `  # In a Pod, with its namespace in POD_NAMESPACE:
  seedbed-controller --encryption --gossip-keys --listen :8090

  # From a laptop:
  seedbed-controller --kubeconfig ~/.kube/config --encryption --log-level debug

  # Give the node agents a new gossip key, and wait until all of them have it:
  seedbed-controller gossip rotate --kubeconfig ~/.kube/config`

func command(out, log io.Writer) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "seedbed-controller", Short: "The controllers that run once in a cluster", Long: about, Example: example, Args: daemon.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), log) },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return daemon.Configure(cmd.Flags(), o.config) },
	}
	o.defineShared(cmd.PersistentFlags())
	o.define(cmd.Flags())
	cmd.SetOut(out)
	cmd.AddCommand(gossipCommand(o, out, log))
	return cmd
}

// run is the process, from its start until ctx ends.
func (o *options) run(ctx context.Context, log io.Writer) error {
	logger, err := daemon.LoggerAt(o.logFormat, o.logLevel, log)
	if err != nil {
		return err
	}
	kube.Quieten(logger)
	cfg, err := o.finish(logger)
	if err != nil {
		return err
	}
	failed := live(ctx, cfg, o.listen)
	if ctx.Err() == nil {
		return failed
	}
	// Also while it started: what was cut short by that is no failure.
	logger.Info("Has stopped, as it was told to")
	return nil
}

// identity is that of this process, and of none before or after it.
func identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the name of this machine: %w", err)
	}
	var unique [8]byte
	if _, err := rand.Read(unique[:]); err != nil {
		return "", fmt.Errorf("make an identity: %w", err)
	}
	return host + "_" + hex.EncodeToString(unique[:]), nil
}
