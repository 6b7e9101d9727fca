package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/serve"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/live"
)

// defaultKubeconfig is what serve writes and ctl reads, unless told otherwise.
const defaultKubeconfig = "seedbed.kubeconfig"

// serveFlags are the flags of seedbed serve.
type serveFlags struct {
	nodes, pods int
	seed        uint64
	speed       string
	paused      bool
	bare        bool
	listen      string
	kubeconfig  string
	force       bool
	journal     string
	trace       string
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [SCENARIO]",
		Short: "Serve a simulated cluster to kubectl and other real clients",
		Long: `Serve a simulated cluster on the loopback interface, to kubectl and any other
client of Kubernetes, and write a kubeconfig for it. With a scenario its systems,
story and faults are in the cluster; without one there are empty nodes.

Pods that clients create get a node and run in name; there are no containers.
Virtual time keeps the pace of --speed; clients are answered at once whatever it
is. seedbed ctl steers time and faults while the cluster runs.

What clients do makes each live run another one. --journal keeps it, and seedbed
replay JOURNAL makes exactly the same run again.

Exit codes: 0 stopped by a signal; 1 a property of the scenario broke; 2 bad
input; 3 the engine itself failed.`,
		Example: `  seedbed serve
  kubectl --kubeconfig seedbed.kubeconfig get nodes

  seedbed serve safe-rotation --speed 10 --seed 3
  seedbed serve --nodes 100 --pods 10000 --speed max`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.serveOptions(&f, cmd.Flags().Changed("nodes"), args)
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), &f, o)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.nodes, "nodes", 3, "number of nodes of an empty cluster, from 0 to 5000")
	flags.IntVar(&f.pods, "pods", 0, "number of pods to begin with, in the namespace load, from 0 to 100000")
	flags.Uint64Var(&f.seed, "seed", 0, "the seed that decides what is left to chance, a whole number from 0")
	flags.StringVar(&f.speed, "speed", "real", "pace of virtual time: real, max, or how many times as fast, such as 10")
	flags.BoolVar(&f.paused, "paused", false, "begin with time standing still; seedbed ctl step or resume lets it pass")
	flags.BoolVar(&f.bare, "bare", false, "only the API server: nothing schedules pods, runs them or collects garbage")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 is any free one")
	flags.StringVar(&f.kubeconfig, "kubeconfig", defaultKubeconfig, "file to write the kubeconfig to, readable by you only")
	flags.BoolVar(&f.force, "force", false, "overwrite the kubeconfig even if seedbed serve has not written it, or its cluster is still served")
	flags.StringVar(&f.journal, "journal", "", "keep what clients do in this file, secrets included, for seedbed replay")
	flags.StringVar(&f.trace, "trace", "", "write the trace of the run to this file, one line of JSON per event")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return cmd
}

// serveOptions refuses flags that make no sense, and reads the scenario.
func (a *app) serveOptions(f *serveFlags, nodes bool, args []string) (*serve.Options, error) {
	o := &serve.Options{
		Registry: a.registry, Paused: f.paused, Listen: f.listen,
		World: serve.World{Seed: f.seed, Pods: f.pods, Bare: f.bare},
	}
	var err error
	_, _, listenErr := net.SplitHostPort(f.listen)
	switch {
	case f.nodes < 0 || f.nodes > 5000:
		return nil, badInput("--nodes %d: write how many nodes there are, from 0 to 5000", f.nodes)
	case f.pods < 0 || f.pods > 100_000:
		return nil, badInput("--pods %d: write how many pods there are, from 0 to 100000", f.pods)
	case listenErr != nil:
		return nil, badInput("--listen %q: write an address and a port, such as 127.0.0.1:6443", f.listen)
	case len(args) > 1:
		return nil, badInput("seedbed serve takes one scenario; %d were given", len(args))
	case len(args) == 1 && nodes:
		return nil, badInput("--nodes is for an empty cluster; the scenario says how many nodes it has")
	}
	if o.Speed, err = live.ParseSpeed(f.speed); err != nil {
		return nil, badInput("--speed: %v", err)
	}
	if len(args) == 0 {
		o.World.Nodes = f.nodes
		return o, nil
	}
	files, err := a.read(args)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, badInput("%s holds %s; name one of them", args[0], scenarios.Count(len(files), "scenario"))
	}
	o.World.Path, o.World.Scenario = files[0].Path, string(files[0].Text)
	return o, nil
}

func (a *app) serve(ctx context.Context, f *serveFlags, o *serve.Options) (err error) {
	began := time.Now()
	if err := checkKubeconfig(ctx, f); err != nil {
		return err
	}
	for _, file := range []struct {
		flag, path string
		mode       os.FileMode
		into       func(*os.File)
	}{
		{"--journal", f.journal, 0o600, func(x *os.File) { o.Journal = x }},
		{"--trace", f.trace, 0o644, func(x *os.File) { o.Trace = x }},
	} {
		if file.path == "" {
			continue
		}
		x, err := os.OpenFile(file.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, file.mode)
		if err != nil {
			return badInput("%s: %v", file.flag, err)
		}
		defer x.Close()
		file.into(x)
	}
	server, err := serve.Start(*o)
	if err != nil {
		return a.notServed(f, err)
	}
	if err := server.WriteKubeconfig(f.kubeconfig); err != nil {
		_, stopErr := server.Stop()
		return badInput("--kubeconfig: %v", errors.Join(err, stopErr))
	}
	a.sayServed(f, server, time.Since(began))
	if a.up != nil {
		a.up()
	}
	select {
	case <-ctx.Done():
	case <-server.Ended():
	}
	return a.sayStopped(f, server)
}

// checkKubeconfig refuses to overwrite what somebody needs, unless it is told to.
func checkKubeconfig(ctx context.Context, f *serveFlags) error {
	err := serve.CheckKubeconfig(ctx, f.kubeconfig)
	switch needed := errors.Is(err, serve.ErrNotOurs) || errors.Is(err, serve.ErrServed); {
	case err == nil, needed && f.force:
		return nil
	case needed:
		return badInput("--kubeconfig %s: %v; name another, or write --force to overwrite it", f.kubeconfig, err)
	}
	return badInput("--kubeconfig: %v", err)
}

// notServed says why there is no server.
func (a *app) notServed(f *serveFlags, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return badInput("--listen %s: %v; write another address, or port 0 for a free one", f.listen, op.Err)
	}
	return badInput("%v", err)
}

func (a *app) sayServed(f *serveFlags, server *serve.Server, took time.Duration) {
	fmt.Fprintf(a.out, "a simulated cluster is up at %s after %.2f s\n", server.URL(), took.Seconds())
	fmt.Fprintf(a.out, "  kubectl --kubeconfig %s get nodes\n", f.kubeconfig)
	where := ""
	if f.kubeconfig != defaultKubeconfig {
		where = " --kubeconfig " + f.kubeconfig
	}
	fmt.Fprintf(a.out, "  seedbed ctl%s status\n", where)
	fmt.Fprintf(a.out, "Ctrl-C stops it.\n")
}

// sayStopped ends the server and says how the run came out.
func (a *app) sayStopped(f *serveFlags, server *serve.Server) error {
	sum, err := server.Stop()
	fmt.Fprintf(a.out, "stopped after %s of virtual time in %.1f s: %s, %s of clients, hash %016x\n",
		sum.Elapsed.Round(time.Millisecond), sum.Wall.Seconds(), scenarios.Count(sum.Steps, "step"), scenarios.Count(sum.Requests, "request"), sum.Hash)
	if f.journal != "" {
		fmt.Fprintf(a.out, "  seedbed replay %s\n", f.journal)
	}
	broken := sum.Broken()
	if broken != nil {
		fmt.Fprintf(a.out, "property broken: %s, at %s: %v\n  it means: %s\n", broken.Name, broken.Broken.At.Round(time.Microsecond), broken.Broken.Err, broken.Meaning)
	}
	var panicked *engine.PanicError
	switch {
	case errors.As(err, &panicked) && panicked.Task != "":
		return &exit{exitViolated, fmt.Sprintf("the cluster has ended: %v", err)}
	case err != nil:
		return &exit{exitEngine, fmt.Sprintf("the cluster has ended: %v", err)}
	case broken != nil:
		return &exit{code: exitViolated}
	}
	return nil
}
