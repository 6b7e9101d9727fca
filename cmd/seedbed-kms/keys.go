package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/kms/hsm"
	"github.com/seedbed-sim/seedbed/realmode/kms/localkey"
	"github.com/seedbed-sim/seedbed/realmode/kms/memory"
)

// keyCommands are those about key files.
func keyCommands() []*cobra.Command {
	changer := &localkey.Changer{Now: time.Now, Entropy: rand.Reader}
	stage := false
	rotate := keyCommand("rotate", "Add a version to a key file and print its id",
		`Add a version to a key file and print its id. It replaces the primary, which is the
version that encrypts, unless --stage is said. The file is replaced in one step; after a
crash it is the old one or the new one, and whole.

A plugin that is running notices within its --probe-interval, or at once on SIGHUP. What
was encrypted before stays readable: no version is ever removed.`,
		func(_ *cobra.Command, file string) (string, error) { return changer.Rotate(file, stage) })
	rotate.Flags().BoolVar(&stage, "stage", false, "only add it, so that plugins can decrypt by it, and let 'activate' make it the primary")
	return []*cobra.Command{
		keyCommand("init", "Make a key file and print the id of its one version",
			"Make a key file that only its owner may read, and print the id of its one version.\nA file that is there is never replaced.",
			func(_ *cobra.Command, file string) (string, error) { return changer.Init(file) }),
		rotate,
		keyCommand("activate", "Make the newest version of a key file the primary and print its id",
			"Make the newest version of a key file the one that encrypts, and print its id. Do so\nwhen the file with that version is on every node.",
			func(_ *cobra.Command, file string) (string, error) { return changer.Activate(file) }),
		keyCommand("show", "Print the ids of the versions in a key file",
			"Print the ids of the versions in a key file, when they were made, and which one\nencrypts. Keys are not printed.", show),
		tokenCommand(),
	}
}

// tokenCommand is the one about keys in tokens.
func tokenCommand() *cobra.Command {
	cfg := hsm.Config{}
	cmd := &cobra.Command{
		Use: "pkcs11-rotate", Short: "Make a version of a key in a PKCS#11 token and print its id",
		Long: "Make a version of a key in a PKCS#11 token, the first one if there is none, and print\nits id. It is made in the token, and cannot be taken out. It encrypts from now on.",
		Args: daemon.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = memory.Protect() // as far as it can be had: a command is over in an instant
			id, err := hsm.Rotate(cmd.Context(), cfg)
			if err != nil {
				return daemon.Usage(err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), id)
			return nil
		},
	}
	defineHSM(cmd.Flags(), &cfg)
	return cmd
}

func keyCommand(name, short, long string, do func(cmd *cobra.Command, file string) (string, error)) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: daemon.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return daemon.Usage(errors.New("--key-file is missing"))
			}
			_ = memory.Protect() // as far as it can be had: a command is over in an instant
			text, err := do(cmd, file)
			if err != nil {
				return daemon.Usage(fmt.Errorf("--key-file: %w", err))
			}
			fmt.Fprintln(cmd.OutOrStdout(), text)
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "key-file", "", "the key file (required)")
	return cmd
}

func show(_ *cobra.Command, file string) (string, error) {
	versions, err := localkey.Versions(file)
	text := ""
	for i, v := range versions {
		if i > 0 {
			text += "\n"
		}
		if text += v.ID + " " + v.Created.Format(time.RFC3339); v.Primary {
			text += " primary"
		}
	}
	return text, err
}
