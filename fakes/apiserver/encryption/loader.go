package encryption

import (
	"errors"
	"fmt"
	"time"
)

// Options say how a process of an API server was started.
type Options struct {
	Surroundings

	// File reads the file of --encryption-provider-config.
	File func() ([]byte, error)

	// Reload is --encryption-provider-config-automatic-reload.
	Reload bool

	// Event, if set, is called after each attempt to load the file anew, with the hash
	// of what was in the file, if it could be read, and what came of it: nil is success.
	Event func(hash string, err error)
}

// Loader is what one process of an API server does about encryption, from its start to
// its end. It is used on one goroutine.
type Loader struct {
	opts    Options
	current *Transformers
	info    Info
	reload  reload
	closed  bool
}

// Info is what a process tells of itself in metrics.
type Info struct {
	// Hash is that of the file that is loaded, as apiserver_encryption_config_
	// controller_last_config_info tells it.
	Hash string

	// Since is when it came into force.
	Since time.Time

	// Succeeded and Failed count the attempts to load another file.
	Succeeded, Failed int

	// LastSuccess and LastFailure are the times of the last of them.
	LastSuccess, LastFailure time.Time

	// Err is why the last attempt failed, nil if it did not.
	Err error
}

// Start is the start of a process. It fails as the process does: the file is missing,
// empty, or not valid. With Reload the file is looked at again from now on.
func Start(o Options) (*Loader, error) {
	data, err := read(o.File)
	if err != nil {
		return nil, fmt.Errorf("error while parsing file: %w", err)
	}
	c, err := ParseConfiguration(data, o.Reload)
	if err != nil {
		return nil, fmt.Errorf("error while parsing file: %w", err)
	}
	t, err := Build(c, o.Surroundings)
	if err != nil {
		return nil, fmt.Errorf("error while building transformers: %w", err)
	}
	l := &Loader{opts: o, current: t, info: Info{Hash: c.Hash(), Since: o.Timers.Now()}}
	if o.Reload {
		l.poll()
	}
	return l, nil
}

var errNoFile = errors.New("no file is configured")

func read(file func() ([]byte, error)) ([]byte, error) {
	if file == nil {
		return nil, errNoFile
	}
	data, err := file()
	if err != nil {
		return nil, fmt.Errorf("error reading encryption provider configuration file: %w", err)
	}
	if len(data) == 0 {
		return nil, errEmpty
	}
	return data, nil
}

// Transformers are those that are in force.
func (l *Loader) Transformers() *Transformers { return l.current }

// After calls fn after d, at once if that is no time, unless the process has ended.
func (l *Loader) After(d time.Duration, fn func()) {
	if d <= 0 {
		fn()
		return
	}
	l.opts.Timers.After(d, func() {
		if !l.closed {
			fn()
		}
	})
}

// Info is what the process tells of itself.
func (l *Loader) Info() Info { return l.info }

// PluginsCheck is the name of the only health check of an API server that is about KMS
// plugins: with version 2 of the protocol, and with automatic reload, no plugin has one
// of its own.
const PluginsCheck = "kms-providers"

// Check is the health check [PluginsCheck], which is part of healthz and readyz but not
// of livez.
func (l *Loader) Check() (took time.Duration, err error) { return l.current.Check() }

// Close is the end of the process.
func (l *Loader) Close() {
	if l.closed {
		return
	}
	l.closed = true
	l.current.Close()
	l.reload.close()
}
