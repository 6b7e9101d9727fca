package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	coreclock "github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

const aboutRotate = `Gives the node agents a new gossip key, in steps between which every node must report
that it holds the keys of the step before:

  old → added → flipped → dropped

Progress is written as it is made. It waits for as long as a node does not report, and may
be ended and called again at any time: the rotation goes on where it is, be it by the
controllers of the cluster or by the next call.

--abort turns a rotation around, to end at the old keys; --resume turns it forward again.

Whoever calls needs what the controllers' Role for gossip keys has: get, list, watch and
update of the Secret; get, list and watch of Nodes.`

func gossipCommand(o *options, out, log io.Writer) *cobra.Command {
	group := &cobra.Command{Use: "gossip", Short: "The keys of the node agents' gossip", Args: daemon.NoArgs, RunE: func(*cobra.Command, []string) error {
		return daemon.Usagef("say what to do: gossip rotate or gossip status")
	}}
	r := &rotation{options: o, out: out, log: log, clock: clock.New()}
	rotate := &cobra.Command{
		Use: "rotate", Short: "Give all nodes a new key, step by step", Long: aboutRotate, Args: daemon.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	rotate.Flags().BoolVar(&r.abort, "abort", false, "turn a rotation around, to the old keys")
	rotate.Flags().BoolVar(&r.resume, "resume", false, "turn a rotation forward again, or go on with one")
	rotate.Flags().DurationVar(&r.poll, "poll", 2*time.Second, "the time between two looks")
	status := &cobra.Command{
		Use: "status", Short: "Tell where a rotation is, and which nodes have which keys", Args: daemon.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.status(cmd.Context()) },
	}
	group.AddCommand(rotate, status)
	return group
}

// rotation is one call.
type rotation struct {
	options       *options
	out, log      io.Writer
	abort, resume bool
	poll          time.Duration
	rotator       *gossipkeys.Rotator
	clock         coreclock.Clock
}

var errBoth = errors.New("--abort and --resume are opposites: set one of them")

func (r *rotation) connect(ctx context.Context) error {
	logger, err := daemon.LoggerAt(r.options.logFormat, r.options.logLevel, r.log)
	if err != nil {
		return err
	}
	kube.Quieten(logger)
	cfg, err := kube.LoadConfig(r.options.kubeconfig)
	if err != nil {
		return err
	}
	cluster, err := kube.Connect(cfg, kube.Options{Agent: "seedbed-controller-gossip", Log: logger})
	if err != nil {
		return err
	}
	r.use(cluster, logger)
	return cluster.Reach(ctx)
}

// use makes the rotator.
func (r *rotation) use(cluster *kube.Cluster, logger logr.Logger) {
	cfg := &controller.Config{Clock: r.clock, Entropy: rand.Reader, Gossip: &r.options.gossip}
	r.rotator = controller.Rotator(cluster, cluster.Live(), cfg, gossipkeys.WithLogger(logger.V(1)))
}

// run starts, turns or goes on with a rotation, and stays with it to its end.
func (r *rotation) run(ctx context.Context) error {
	switch {
	case r.abort && r.resume:
		return daemon.Usage(errBoth)
	case r.poll <= 0:
		return daemon.Usagef("--poll is %s: set it to a time above zero", r.poll)
	}
	if err := r.connect(ctx); err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	return r.stay(ctx)
}

// stay tells of progress until the rotation is over.
func (r *rotation) stay(ctx context.Context) error {
	last := ""
	for {
		p, err := r.rotator.Advance(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("it was told to stop, and the rotation is not over: %w", ctx.Err())
		case passing(err):
			fmt.Fprintf(r.out, "cannot look, and tries again: %v\n", err)
		case err != nil:
			return err
		default:
			if text := p.String(); text != last {
				fmt.Fprint(r.out, text)
				last = text
			}
			if p.Done() {
				return nil
			}
			if p.Phase == gossipkeys.PhaseIdle || p.Phase == gossipkeys.PhaseEdited {
				return fmt.Errorf("%w any more: somebody has changed the Secret (%s)", gossipkeys.ErrNotRotating, p.Phase)
			}
		}
		if err := r.clock.Sleep(ctx, r.poll); err != nil {
			return fmt.Errorf("it was told to stop, and the rotation is not over: %w", err)
		}
	}
}

// begin does what the flags ask for. Another writer, such as the controllers of the cluster,
// may be faster; then it looks again.
func (r *rotation) begin(ctx context.Context) error {
	for {
		var err error
		switch {
		case r.abort:
			err = r.rotator.Abort(ctx)
		case r.resume:
			err = r.rotator.Resume(ctx)
		default:
			err = r.rotator.Start(ctx)
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := r.clock.Sleep(ctx, r.poll); err != nil {
			return err
		}
	}
}

// passing reports whether an error of a look may be gone at the next.
func passing(err error) bool {
	if err == nil {
		return false
	}
	for _, lasting := range []error{gossipkeys.ErrInvalidData, gossipkeys.ErrNotRotating, gossipkeys.ErrUnsafeEdit} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	return !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}

// status tells where things are.
func (r *rotation) status(ctx context.Context) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	p, err := r.rotator.Progress(ctx)
	if err == nil {
		fmt.Fprint(r.out, p.String())
	}
	return err
}
