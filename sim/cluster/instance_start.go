package cluster

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// EncryptionFlags are the flags of a kube-apiserver about encryption at rest.
type EncryptionFlags struct {
	// ProviderConfig is --encryption-provider-config: the name of a file on the disk of
	// the API server's machine. Empty means no encryption.
	ProviderConfig string

	// AutomaticReload is --encryption-provider-config-automatic-reload.
	AutomaticReload bool

	// HealthzExpires and Watched are those of envelope.Config: how the server takes
	// a KMS plugin that says it is not healthy, and whether somebody asks readyz all
	// the time.
	HealthzExpires, Watched bool
}

// startup is what becomes of an instance before it answers.
type startup struct {
	flags    EncryptionFlags
	loader   *encryption.Loader
	waiting  engine.Timer // for the next attempt, or the end of this one
	starting bool         // it waits
	failures int          // in a row
	failed   error        // why the last attempt failed
	halted   bool         // down with its node, and to come up with it
}

// Node is the machine on which the instance runs.
func (i *Instance) Node() *Node { return i.node }

// Place puts the instance on a machine, with which it goes down and comes up. Instances
// are on the machine of the control plane unless placed elsewhere, which is done before
// the run begins.
func (i *Instance) Place(n *Node) {
	i.node = n
	n.instances = append(n.instances, i)
}

// SetEncryption says with which flags the instance is started, from the next start on.
func (i *Instance) SetEncryption(f EncryptionFlags) { i.flags = f }

// EncryptionFlags are those that were set last.
func (i *Instance) EncryptionFlags() EncryptionFlags { return i.flags }

// Encryption is what the instance has loaded; nil while it is down, and without a
// configuration.
func (i *Instance) Encryption() *encryption.Loader { return i.loader }

// StartError is why the last attempt to start failed; nil if it did not.
func (i *Instance) StartError() error { return i.failed }

var (
	errDown     = errors.New("the API server is down")
	errStarting = errors.New("the API server is starting")
)

// Readyz is the answer of the instance to whoever asks whether it is ready, checks of
// those names excluded: nil for ok.
func (i *Instance) Readyz(exclude ...string) error {
	switch {
	case i.down && i.starting:
		return errStarting
	case i.down:
		return errDown
	case i.loader == nil, slices.Contains(exclude, encryption.PluginsCheck):
		return nil
	}
	if _, err := i.loader.Check(); err != nil {
		return fmt.Errorf("%s: %w", encryption.PluginsCheck, err)
	}
	return nil
}

// launch starts the process. It may take time, and may fail.
func (i *Instance) launch() {
	if i.node.down {
		i.halted = true
		return
	}
	if i.flags.ProviderConfig == "" {
		i.started(nil)
		return
	}
	l, err := encryption.Start(encryption.Options{
		Surroundings: encryption.Surroundings{
			Timers: timers{i.cluster.eng}, Random: i.cluster.eng.Entropy(i.name), Sockets: i.node.Sockets(),
			HealthzExpires: i.flags.HealthzExpires, Watched: i.flags.Watched,
		},
		File:   func() ([]byte, error) { return i.node.Disk().ReadFile(i.flags.ProviderConfig) },
		Reload: i.flags.AutomaticReload,
		Event:  i.reloaded,
	})
	if i.failed = err; err != nil {
		pause := restartMax
		if i.failures < 5 {
			pause = min(restartMax, restartBase<<i.failures)
		}
		i.failures++
		i.cluster.emit("proc", i.name, "exit", "", uint64(pause), "ends as soon as it has started: "+err.Error())
		i.wait(pause, i.launch)
		i.cluster.eng.Touch()
		return
	}
	i.failures = 0
	if took := l.Transformers().Took(); took > 0 {
		i.loader = l
		i.wait(took, func() { i.started(l) })
		return
	}
	i.started(l)
}

// wait goes on with the start later.
func (i *Instance) wait(d time.Duration, fn func()) {
	i.starting = true
	i.waiting = i.cluster.eng.After(d, func(any) {
		i.starting = false
		fn()
	}, nil)
}

// started is the end of a start that went well.
func (i *Instance) started(l *encryption.Loader) {
	i.loader = l
	if l != nil || i.cluster.store.Sealing() {
		i.server.SetEncryption(l)
	}
	if l != nil {
		i.cluster.emit("proc", i.name, "load", "", 0, "has loaded the encryption configuration "+l.Info().Hash)
	}
	if i.down {
		i.up()
	}
	i.cluster.eng.Touch()
}

// unschedule gives up an attempt to start.
func (i *Instance) unschedule() {
	i.waiting.Cancel()
	i.starting, i.halted, i.failures = false, false, 0
	if i.down {
		i.unload()
	}
}

// unload is the end of what the process has loaded.
func (i *Instance) unload() {
	if i.loader != nil {
		i.loader.Close()
		i.loader = nil
	}
}

// halt and resume let the instance share the fate of its machine.
func (i *Instance) halt() {
	was := !i.down || i.starting || i.halted
	i.Stop()
	i.halted = was
}

func (i *Instance) resume() {
	if i.halted {
		i.Start()
	}
}

// reloaded tells what came of an attempt to load another configuration.
func (i *Instance) reloaded(hash string, err error) {
	if err != nil {
		i.cluster.emit("proc", i.name, "reload", "", 1, "keeps the encryption configuration that it has: "+err.Error())
	} else {
		i.cluster.emit("proc", i.name, "reload", "", 0, "has loaded the encryption configuration "+hash)
	}
	i.cluster.eng.Touch()
}

// ghost is an API server that is no part of the cluster.
func (c *Cluster) ghost() *apiserver.Server {
	s := apiserver.NewServer(c.store, "admin")
	s.SetGhost(func() *apiserver.Server {
		for _, i := range c.instances {
			if !i.down {
				return i.server
			}
		}
		return c.instances[0].server
	})
	return s
}

// timers are the engine's, for what lives outside of processes.
type timers struct{ eng *engine.Engine }

// Now implements kms.Timers.
func (t timers) Now() time.Time { return t.eng.Now() }

// After implements kms.Timers.
func (t timers) After(d time.Duration, fn func()) (cancel func()) {
	timer := t.eng.After(d, func(any) { fn() }, nil)
	return func() { timer.Cancel() }
}
