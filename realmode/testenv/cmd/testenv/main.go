// Command testenv builds the programs of a real cluster and runs the test
// environment by hand.
//
//	go run ./realmode/testenv/cmd/testenv build [all | PROGRAM…]
//	go run ./realmode/testenv/cmd/testenv start [--controllers]
//
// Build prints the path of each program. Start prints what a client needs and
// runs the server until it is interrupted.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/realmode/testenv"
	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "testenv", Short: "A real kube-apiserver for tests", SilenceUsage: true}
	root.AddCommand(buildCommand(), startCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build [all | PROGRAM…]",
		Short: "Build programs and print where they are; without arguments those that the test environment runs",
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := binaries.Build(cmd.Context(), cmd.ErrOrStderr(), programs(args)...)
			if err != nil {
				return err
			}
			for _, program := range programs(args) {
				fmt.Fprintln(cmd.OutOrStdout(), set[program])
			}
			return nil
		},
	}
}

func programs(args []string) []binaries.Program {
	switch {
	case len(args) == 0:
		return []binaries.Program{binaries.Etcd, binaries.APIServer, binaries.Kubectl, binaries.ControllerManager}
	case slices.Equal(args, []string{"all"}):
		return binaries.All()
	}
	var out []binaries.Program
	for _, arg := range args {
		out = append(out, binaries.Program(arg))
	}
	return out
}

func startCommand() *cobra.Command {
	var options testenv.Options
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start a server, print what a client needs, and run until interrupted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Progress = cmd.ErrOrStderr()
			return serve(cmd.Context(), cmd.OutOrStdout(), options)
		},
	}
	cmd.Flags().BoolVar(&options.Controllers, "controllers", false, "run kube-controller-manager too")
	cmd.Flags().BoolVar(&options.AllowAll, "allow-all", false, "authorize every request instead of asking RBAC")
	cmd.Flags().StringArrayVar(&options.Flags, "flag", nil, "a further flag of kube-apiserver, as --name=value; may be repeated")
	cmd.Flags().StringVar(&options.Logs, "logs", "", "keep the servers' output in this folder")
	return cmd
}

func serve(ctx context.Context, out io.Writer, options testenv.Options) error {
	server, err := testenv.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "export KUBECONFIG=%s\n# %s, with the bearer token in that file\n", server.Kubeconfig(), server.URL())
	<-ctx.Done()
	return server.Stop()
}
