package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/serve"
	"github.com/seedbed-sim/seedbed/sim/live"
)

// ctl is seedbed ctl: it talks to the debug API of a running seedbed serve.
type ctl struct {
	*app
	kubeconfig string
}

func (a *app) ctlCommand() *cobra.Command {
	c := &ctl{app: a}
	cmd := &cobra.Command{
		Use:   "ctl",
		Short: "Steer time and faults of a cluster that seedbed serve runs",
		Long: `Steer the cluster that seedbed serve runs: let virtual time stand still, pass by
steps or at another speed, switch faults on and off, and take the trace.

The address and the token come from the kubeconfig that seedbed serve has written:
--kubeconfig, or seedbed.kubeconfig here, or else $KUBECONFIG.`,
		Example: `  seedbed ctl pause
  seedbed ctl step 30s
  seedbed ctl inject api-error-429 rate=50% target=outside/kubectl
  seedbed ctl trace --limit 20`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return badInput("say what to do: seedbed ctl status|pause|resume|step|speed|faults|inject|clear|trace|properties")
		},
	}
	cmd.PersistentFlags().StringVar(&c.kubeconfig, "kubeconfig", "", "the kubeconfig that seedbed serve has written")
	cmd.AddCommand(
		c.simple("status", "Show virtual time, speed, hash and counts", http.MethodGet, "state"),
		c.simple("pause", "Let virtual time stand still; clients are answered all the same", http.MethodPost, "pause"),
		c.simple("resume", "Let virtual time pass again", http.MethodPost, "resume"),
		c.stepCommand(), c.speedCommand(), c.faultsCommand(), c.injectCommand(), c.clearCommand(), c.traceCommand(), c.propertiesCommand(),
	)
	return cmd
}

// dial finds the cluster.
func (c *ctl) dial() (*serve.Client, error) {
	paths := []string{c.kubeconfig}
	if c.kubeconfig == "" {
		paths[0] = defaultKubeconfig
		if given := filepath.SplitList(os.Getenv("KUBECONFIG")); missing(defaultKubeconfig) && len(given) > 0 {
			paths = given
		}
	}
	if there := slices.DeleteFunc(slices.Clone(paths), missing); len(there) == 0 {
		return nil, badInput("%s does not exist; start a cluster with seedbed serve, or name the kubeconfig that it wrote with --kubeconfig",
			strings.Join(paths, ", "))
	}
	client, err := serve.Dial(paths...)
	if err != nil {
		return nil, badInput("%v", err)
	}
	return client, nil
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return err != nil
}

// ask makes one request and puts what is wrong into one line.
func (c *ctl) ask(ctx context.Context, method, path string, body []byte, out any) error {
	client, err := c.dial()
	if err != nil {
		return err
	}
	if err := client.Do(ctx, method, path, body, out); err != nil {
		return badInput("%v", err)
	}
	return nil
}

// simple is a command without arguments that answers how things stand.
func (c *ctl) simple(name, short, method, path string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := nothingMore(cmd, args); err != nil {
				return err
			}
			return c.status(cmd.Context(), method, path)
		},
	}
}

// nothingMore refuses arguments.
func nothingMore(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badInput("%s takes no arguments; leave out %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// status makes a request that answers how things stand, and shows it.
func (c *ctl) status(ctx context.Context, method, path string) error {
	var s serve.State
	if err := c.ask(ctx, method, path, nil, &s); err != nil {
		return err
	}
	what := "an empty cluster"
	if s.Scenario != "" {
		what = "scenario " + s.Scenario
	}
	pace := "speed " + s.Speed
	if s.Paused {
		pace = "paused (" + pace + ")"
	}
	fmt.Fprintf(c.out, "cluster   %s, %s, seed %d\n", what, scenarios.Count(s.Nodes, "node"), s.Seed)
	fmt.Fprintf(c.out, "time      %s, %s after the start; %s\n", s.Now.Format(time.RFC3339), seconds(s.Elapsed), pace)
	if s.Behind > 0 {
		fmt.Fprintf(c.out, "          this machine is too slow: %s were given up\n", seconds(s.Behind))
	}
	fmt.Fprintf(c.out, "run       %s, revision %d, hash %s\n", scenarios.Count(s.Steps, "step"), s.Revision, s.Hash)
	fmt.Fprintf(c.out, "clients   %s, %s open\n", scenarios.Count(s.Requests, "request"), scenarios.Count(s.Watches, "watch"))
	fmt.Fprintf(c.out, "trouble   %s on, %s broken\n", scenarios.Count(s.Faults, "fault"), scenarios.Count(s.Broken, "property"))
	return nil
}

// seconds is a virtual time for a person.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

func (c *ctl) stepCommand() *cobra.Command {
	return &cobra.Command{
		Use: "step DURATION", Short: "Let so much virtual time pass at once",
		Example: "  seedbed ctl step 30s",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badInput("seedbed ctl step takes the time to let pass, such as 30s; %d were given", len(args))
			}
			if by, err := time.ParseDuration(args[0]); err != nil || by <= 0 {
				return badInput("%q is not a time to step by; write one such as 10s, 1m30s or 24h", args[0])
			}
			return c.status(cmd.Context(), http.MethodPost, "step?"+url.Values{"by": args}.Encode())
		},
	}
}

func (c *ctl) speedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "speed real|max|N", Short: "Change the pace of virtual time",
		Example: "  seedbed ctl speed 60",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badInput("seedbed ctl speed takes one speed: real, max, or how many times as fast as real time; %d were given", len(args))
			}
			if _, err := live.ParseSpeed(args[0]); err != nil {
				return badInput("%v", err)
			}
			return c.status(cmd.Context(), http.MethodPost, "speed?"+url.Values{"to": args}.Encode())
		},
	}
}

func (c *ctl) faultsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "faults", Short: "List the faults that are switched on; seedbed list faults names all kinds",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := nothingMore(cmd, args); err != nil {
				return err
			}
			var faults []serve.Fault
			if err := c.ask(cmd.Context(), http.MethodGet, "faults", nil, &faults); err != nil {
				return err
			}
			if len(faults) == 0 {
				fmt.Fprintln(c.out, "no fault is switched on")
			}
			for _, f := range faults {
				c.showFault(f)
			}
			return nil
		},
	}
}

func (c *ctl) showFault(f serve.Fault) {
	text := fmt.Sprintf("%3d  %s", f.ID, f.Kind)
	for _, knob := range [...]struct{ name, value string }{{"target", f.Target}, {"rate", f.Rate}, {"verb", f.Verb}, {"key", f.Key}} {
		if knob.value != "" {
			text += " " + knob.name + "=" + knob.value
		}
	}
	fmt.Fprintf(c.out, "%s, struck %s\n", text, scenarios.Count(f.Struck, "time"))
}

func (c *ctl) injectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inject FAULT [KNOB=VALUE]…", Short: "Switch a fault on",
		Long: `Switch a fault on until seedbed ctl clear. The kinds of fault and their knobs are
shown by seedbed list faults. Real clients are targets too: outside/kubectl is
kubectl, and outside/* all of them.`,
		Example: `  seedbed ctl inject node-crash every=10s rate=50%
  seedbed ctl inject api-error-429 rate=50% target=outside/kubectl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badInput("seedbed ctl inject takes the name of a fault; seedbed list faults shows them")
			}
			body, err := faultBody(args[0], args[1:])
			if err != nil {
				return err
			}
			var f serve.Fault
			if err := c.ask(cmd.Context(), http.MethodPost, "faults", body, &f); err != nil {
				return err
			}
			c.showFault(f)
			return nil
		},
	}
}

// faultBody writes a fault as a scenario does. JSON is YAML; numbers stay numbers.
func faultBody(kind string, knobs []string) ([]byte, error) {
	values := map[string]any{}
	for _, knob := range knobs {
		name, value, ok := strings.Cut(knob, "=")
		if !ok || name == "" || value == "" {
			return nil, badInput("%q is not a knob of a fault; write it as KNOB=VALUE, such as rate=50%%", knob)
		}
		values[name] = value
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			values[name] = n
		}
	}
	return json.Marshal(map[string]any{kind: values})
}

func (c *ctl) clearCommand() *cobra.Command {
	return &cobra.Command{
		Use: "clear NUMBER…|all", Short: "Switch faults off, by the numbers that seedbed ctl faults shows",
		Example: "  seedbed ctl clear 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badInput("seedbed ctl clear takes numbers of faults, or all; seedbed ctl faults shows them")
			}
			for _, arg := range args {
				path := "faults/" + arg
				if arg == "all" {
					path = "faults"
				} else if _, err := strconv.Atoi(arg); err != nil {
					return badInput("%q is not the number of a fault; write one that seedbed ctl faults shows, or all", arg)
				}
				var done struct{ Cleared int }
				if err := c.ask(cmd.Context(), http.MethodDelete, path, nil, &done); err != nil {
					return err
				}
				fmt.Fprintf(c.out, "%s switched off\n", scenarios.Count(done.Cleared, "fault"))
			}
			return nil
		},
	}
}

func (c *ctl) traceCommand() *cobra.Command {
	var after uint64
	var limit int
	cmd := &cobra.Command{
		Use: "trace", Short: "Print the latest events of the run, one line of JSON each",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := nothingMore(cmd, args); err != nil {
				return err
			}
			if limit < 0 {
				return badInput("--limit %d: write how many events to print, 1 or more", limit)
			}
			client, err := c.dial()
			if err != nil {
				return err
			}
			if err := client.Trace(cmd.Context(), after, limit, c.out); err != nil {
				return badInput("%v", err)
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&after, "after", 0, "only events after this step of the run")
	cmd.Flags().IntVar(&limit, "limit", 0, "only so many of the latest events; 0 is all that are remembered")
	return cmd
}

func (c *ctl) propertiesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "properties", Short: "Show how things stand with the properties of the scenario",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := nothingMore(cmd, args); err != nil {
				return err
			}
			var properties []serve.Property
			if err := c.ask(cmd.Context(), http.MethodGet, "properties", nil, &properties); err != nil {
				return err
			}
			if len(properties) == 0 {
				fmt.Fprintln(c.out, "the cluster runs no scenario: there are no properties")
			}
			for _, p := range properties {
				fmt.Fprintf(c.out, "%-8s%s\n", p.State, p.Name)
				if p.Found != "" {
					fmt.Fprintf(c.out, "        at %s: %s\n", seconds(p.At), p.Found)
				}
			}
			return nil
		},
	}
}
