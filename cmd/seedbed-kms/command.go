package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/hsm"
	"github.com/seedbed-sim/seedbed/realmode/kms/vault"
)

// options are the flags of the plugin itself.
type options struct {
	config   string
	socket   string
	provider string
	keyFile  string
	listen   string

	probeInterval, callTimeout, drainTimeout time.Duration

	vault vault.Config
	hsm   hsm.Config

	takeOver, sharedDirectory, lockedMemory bool

	logFormat string
	path      string // of the socket
}

// What the package sidecar tells the plugin of a key by its environment. (To import it
// would bring all of a client of Kubernetes into this program.)
const (
	envSocket      = "KMS_PLUGIN_SOCKET"
	envEndpoint    = "KMS_PLUGIN_ENDPOINT"
	envKeyPath     = "KMS_PLUGIN_KEY_PATH"
	envNamespace   = "KMS_PLUGIN_NAMESPACE"
	envMetricsPort = "KMS_PLUGIN_METRICS_PORT"
)

const about = `A KMS v2 plugin for kube-apiserver.

It listens on a unix socket that only its own user and root may use, and encrypts with
the newest version of a key. Everything that older versions have encrypted stays
readable. The key is kept by a provider:

  local   in a file, which 'seedbed-kms init' makes and 'seedbed-kms rotate' adds
          versions to; the file must be open to nobody else
  vault   in the transit engine of a HashiCorp Vault; rotate it there. The token comes
          from a file that somebody else keeps fresh, or from an AppRole login, and is
          renewed at half of its life. A file that changes is read again
  pkcs11  in a PKCS#11 token, where 'seedbed-kms pkcs11-rotate' makes versions

The key is tried at the start and every --probe-interval: an encryption and a decryption
of random bytes. That is also when a new version is noticed, or at once on SIGHUP. What
was found is what Status, /readyz and the metrics tell. If the key does not work at the
start the plugin ends with the reason.

On SIGTERM it takes no more connections, answers the calls that there are and removes
its socket. To replace a running plugin without a gap start the new one with
--take-over: the socket changes hands in one step, and the old one ends by itself once
its calls are answered. A socket that a plugin has left behind when it was killed is
replaced; one on which somebody answers never is without --take-over.

Every flag may also be a field of the file --config; flags win. In a container that was
made for a key of an encryption policy, the environment says what is not set.

Exit codes: 0 it was told to stop, or another has taken over; 1 it could not start or go
on; 2 bad flags.`

const example = `  # A key, and a plugin; the socket is what an API server is told:
  seedbed-kms init --key-file /etc/kms/key.json
  seedbed-kms --key-file /etc/kms/key.json --socket unix:///run/kms/kms.sock

  # A new version, which a running plugin uses within --probe-interval:
  seedbed-kms rotate --key-file /etc/kms/key.json

  # The same on several nodes: bring the file to all of them after the first step, and
  # again after the second.
  seedbed-kms rotate --stage --key-file /etc/kms/key.json
  seedbed-kms activate --key-file /etc/kms/key.json`

func command(log io.Writer) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "seedbed-kms", Short: "A KMS v2 plugin for kube-apiserver", Long: about, Example: example, Args: daemon.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := daemon.Configure(cmd.Flags(), o.config); err != nil {
				return err
			}
			logger, err := daemon.Logger(o.logFormat, log)
			if err != nil {
				return err
			}
			if err := o.finish(); err != nil {
				return daemon.Usage(err)
			}
			return o.run(cmd.Context(), logger)
		},
	}
	o.define(cmd.Flags())
	cmd.AddCommand(keyCommands()...)
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

// define defines the flags.
func (o *options) define(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "YAML file with a field for each flag that is not given")
	f.StringVar(&o.socket, "socket", os.Getenv(envSocket), "where to listen, such as unix:///run/kms/kms.sock (default $"+envSocket+")")
	f.StringVar(&o.provider, "provider", "local", "who keeps the key: "+strings.Join(providers, " or "))
	f.StringVar(&o.keyFile, "key-file", "", "file of the provider local")
	f.StringVar(&o.vault.Address, "vault-address", os.Getenv(envEndpoint), "https URL of the Vault; http only on loopback (default $"+envEndpoint+")")
	f.StringVar(&o.vault.Namespace, "vault-namespace", os.Getenv(envNamespace), "namespace of the key and of the login (default $"+envNamespace+")")
	f.StringVar(&o.vault.Key, "vault-key", os.Getenv(envKeyPath), "mount and name of the key, such as transit/etcd (default $"+envKeyPath+")")
	f.StringVar(&o.vault.CAFile, "vault-ca-file", "", "PEM certificates that the Vault's must chain to (default: those of the system)")
	f.StringVar(&o.vault.ServerName, "vault-tls-server-name", "", "name that its certificate is for (default: the host of the address)")
	f.StringVar(&o.vault.TokenFile, "vault-token-file", "", "file with a token")
	f.StringVar(&o.vault.RoleIDFile, "vault-role-id-file", "", "file with the role id of an AppRole, instead of a token")
	f.StringVar(&o.vault.SecretIDFile, "vault-secret-id-file", "", "file with its secret id")
	f.StringVar(&o.vault.AuthPath, "vault-auth-path", vault.DefaultAuthPath, "where AppRole is mounted")
	defineHSM(f, &o.hsm)
	f.StringVar(&o.listen, "listen", listenDefault(), "loopback address of /healthz, /readyz and /metrics; port 0 for any; empty for none")
	f.DurationVar(&o.probeInterval, "probe-interval", kms.DefaultProbeInterval, "how often the key is tried, and a new version looked for")
	f.DurationVar(&o.callTimeout, "call-timeout", kms.DefaultCallTimeout, "how long a call may take; less than the timeout that API servers are told")
	f.DurationVar(&o.drainTimeout, "drain-timeout", kms.DefaultDrainTimeout, "how long calls may go on at the end")
	f.BoolVar(&o.takeOver, "take-over", false, "take the socket from a plugin that answers on it, which ends then")
	f.BoolVar(&o.sharedDirectory, "shared-directory", false, "accept a directory for the socket in which others may write, such as an emptyDir of a Pod")
	f.BoolVar(&o.lockedMemory, "require-locked-memory", false, "do not start if memory cannot be kept from swap and core dumps")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
}

// listenDefault is a port of one's own where containers share the network of a node.
func listenDefault() string {
	if port := os.Getenv(envMetricsPort); port != "" {
		return "127.0.0.1:" + port
	}
	return "127.0.0.1:8091"
}

// Providers.
const (
	local    = "local"
	ofAVault = "vault"
	inAToken = "pkcs11"
)

var providers = []string{local, ofAVault, inAToken}

// defineHSM defines the flags of the provider pkcs11.
func defineHSM(f *pflag.FlagSet, cfg *hsm.Config) {
	f.StringVar(&cfg.Module, "pkcs11-module", "", "library of the token's maker, which is loaded into this process")
	f.StringVar(&cfg.Token, "pkcs11-token", "", "label of the token")
	f.StringVar(&cfg.Key, "pkcs11-key", "", "label of the key")
	f.StringVar(&cfg.PINFile, "pkcs11-pin-file", "", "file with the PIN of the token's user")
}

// finish checks the flags.
func (o *options) finish() error {
	if o.socket == "" {
		return errors.New("--socket is missing: set it to where API servers look for the plugin, such as unix:///run/kms/kms.sock")
	}
	var err error
	if o.path, err = kms.SocketPath(o.socket); err != nil {
		return fmt.Errorf("--socket: %w", err)
	}
	if o.listen != "" {
		if err := daemon.Loopback(o.listen); err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"probe-interval", o.probeInterval}, {"call-timeout", o.callTimeout}, {"drain-timeout", o.drainTimeout}} {
		if d.value <= 0 {
			return fmt.Errorf("--%s is %v: set it to more than nothing, such as 10s", d.name, d.value)
		}
	}
	return o.finishProvider()
}

func (o *options) finishProvider() error {
	switch o.provider {
	case local:
		if o.keyFile == "" {
			return errors.New("--key-file is missing: set it to a file that seedbed-kms init has made")
		}
		return nil
	case ofAVault:
		if o.vault.Address == "" || o.vault.Key == "" {
			return errors.New("--vault-address or --vault-key is missing: set them to such as https://vault.example.com:8200 and transit/etcd")
		}
		return nil
	case inAToken:
		return nil // its own configuration says what is missing
	default:
		return fmt.Errorf("--provider is %q: set it to %s", o.provider, strings.Join(providers, " or "))
	}
}
