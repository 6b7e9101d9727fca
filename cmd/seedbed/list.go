package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// lists are the things that seedbed list shows.
var lists = []struct {
	name, short string
	show        func(*app) (string, error)
}{
	{"scenarios", "The built-in scenarios, and what each is written to show", (*app).listScenarios},
	{"systems", "What scenarios can run, with the configuration of each", registered((*scenarios.Registry).ListSystems)},
	{"properties", "What must hold, and what it means when it does not", registered((*scenarios.Registry).ListProperties)},
	{"faults", "What can go wrong, with the knobs of each", registered((*scenarios.Registry).ListFaults)},
	{"controllers", "Controllers of kube-controller-manager that a cluster may have", registered((*scenarios.Registry).ListControllers)},
	{"steps", "What a story can consist of, with an example of each", registered((*scenarios.Registry).ListSteps)},
}

// registered is a list of what the registry knows.
func registered(list func(*scenarios.Registry) string) func(*app) (string, error) {
	return func(a *app) (string, error) { return list(a.registry), nil }
}

func (a *app) listScenarios() (string, error) {
	files, err := a.read(nil)
	if err != nil {
		return "", err
	}
	return scenarios.ListFiles(files), nil
}

func (a *app) listCommand() *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List scenarios, systems, properties, faults, controllers or steps",
		Args:  cobra.ArbitraryArgs,
	}
	for _, l := range lists {
		names = append(names, l.name)
		cmd.AddCommand(&cobra.Command{
			Use:   l.name,
			Short: l.short,
			RunE: func(_ *cobra.Command, args []string) error {
				if len(args) > 0 {
					return badInput("seedbed list %s takes nothing more; leave out %q", l.name, args[0])
				}
				text, err := l.show(a)
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(a.out, text)
				return err
			},
		})
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return badInput("say what to list: seedbed list %s", strings.Join(names, "|"))
		}
		return unknownCommand(cmd, args[0])
	}
	return cmd
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files, for editors",
		Long: `Print the JSON Schema of scenario files. An editor with a YAML language server
completes and checks scenarios with it when their first line is

  # yaml-language-server: $schema=scenario.schema.json`,
		Example: "  seedbed schema > scenario.schema.json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badInput("seedbed schema takes no arguments; leave out %q", args[0])
			}
			text, err := a.registry.Schema()
			if err != nil {
				return &exit{exitEngine, err.Error()}
			}
			_, err = a.out.Write(text)
			return err
		},
	}
}
