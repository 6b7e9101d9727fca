package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/fakes/kms/conformance"
)

// still is a clock on which no time passes.
type still struct{ clock.Clock }

func (still) Now() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func (still) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// machine is one with the model.
type machine struct {
	vault  *kms.Vault
	plugin *kms.Plugin
	made   *int // versions of the key
}

func newMachine() *machine {
	made := 1
	m := &machine{vault: kms.NewVault("kek-1"), made: &made}
	m.Start()
	return m
}

func (m *machine) Plugin() service.Service { return m.plugin }
func (m *machine) Clock() clock.Clock      { return still{} }

func (m *machine) Rotate() {
	*m.made++
	m.vault.Rotate(fmt.Sprintf("kek-%d", *m.made))
	m.plugin.Refresh()
}

func (m *machine) Kill() { m.plugin.Behave(kms.Outage(errors.New("connection refused"))) }

func (m *machine) Start() { m.plugin = kms.NewPlugin(m.vault, still{}) }

func (m *machine) Replica() conformance.Machine {
	other := &machine{vault: m.vault, made: m.made}
	other.Start()
	return other
}

// TestModel: the model is a plugin as one should be.
func TestModel(t *testing.T) {
	conformance.Run(t, func(*testing.T) conformance.Machine { return newMachine() })
}
