package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/node"
)

const (
	statusTimeout = 10 * time.Second
	statusMax     = 4 << 20
)

func gossipCommand(o *options, out io.Writer) *cobra.Command {
	group := &cobra.Command{Use: "gossip", Short: "What the agent of this node knows of gossip", Args: daemon.NoArgs, RunE: func(*cobra.Command, []string) error {
		return daemon.Usagef("say what to do: gossip status")
	}}
	group.AddCommand(&cobra.Command{
		Use: "status", Short: "Show members, fingerprints of keys, and their generation", Args: daemon.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := ask(cmd.Context(), o.listen)
			if err != nil {
				return err
			}
			show(out, s)
			return nil
		},
	})
	return group
}

// ask asks the agent that listens at an address.
func ask(ctx context.Context, address string) (s *node.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+gossipPath, nil)
	if err != nil {
		return nil, daemon.Usagef("--listen: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the agent, which listens where its own --listen says: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the agent: it answers %s", resp.Status)
	}
	s = &node.Status{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, statusMax)).Decode(s); err != nil {
		return nil, fmt.Errorf("read what the agent answers: %w", err)
	}
	return s, nil
}

func show(out io.Writer, s *node.Status) {
	fmt.Fprintf(out, "node %s\n", s.Node)
	if s.Report == nil {
		fmt.Fprintln(out, "keys none yet")
	} else {
		fmt.Fprintf(out, "keys %s (generation %d, since %s)\n", strings.Join(s.Report.Keys, " "), s.Report.Generation, s.Report.Time.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(out, "%d members\n", len(s.Members))
	for _, m := range s.Members {
		fmt.Fprintf(out, "  %s\n", m)
	}
}
