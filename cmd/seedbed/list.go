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
	show        func(*scenarios.Registry) string
}{
	{"systems", "What scenarios can run, with the configuration of each", (*scenarios.Registry).ListSystems},
	{"properties", "What must hold, and what it means when it does not", (*scenarios.Registry).ListProperties},
	{"faults", "What can go wrong, with the knobs of each", (*scenarios.Registry).ListFaults},
	{"steps", "What a story can consist of, with an example of each", (*scenarios.Registry).ListSteps},
}

func (a *app) listCommand() *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List systems, properties, faults or steps",
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
				fmt.Fprint(a.out, l.show(a.registry))
				return nil
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
