package conformance

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
	fake "github.com/seedbed-sim/seedbed/fakes/nri"
	"github.com/seedbed-sim/seedbed/realmode/clock"
)

// model is the arm of the model, in a bubble of virtual time.
type model struct{ runtime *fake.Runtime }

func (m *model) port() (nri.Runtime, func()) {
	p := m.runtime.Port(clock.New())
	return p, p.Gone
}

func (m *model) start(pod string, hold <-chan struct{}) error {
	m.runtime.Takes = 0
	if hold != nil {
		m.runtime.Takes = time.Second // longer than it takes to connect
	}
	_, err := m.runtime.Start(context.Background(), clock.New(), fake.Pod{
		UID: types.UID(pod), Name: pod, Addr: netip.MustParseAddr("10.1.0.1"), Container: "app", Args: []string{"/app"}, Image: kernel.Image{},
	})
	return err
}

func (m *model) stop(pod string) error {
	return m.runtime.Stop(context.Background(), clock.New(), types.UID(pod))
}

func (m *model) hangUp()                { m.runtime.HangUp() }
func (m *model) serve(served bool)      { m.runtime.SetServed(served) }
func (m *model) timeout() time.Duration { return fake.RequestTimeout }

func TestModel(t *testing.T) {
	play(t, "model", func(t *testing.T, f func(*testing.T, arm)) {
		synctest.Test(t, func(t *testing.T) {
			m := &model{fake.New(kernel.New(kernel.Options{}))}
			f(t, m)
			m.runtime.SetServed(false) // or the plugin would wait for ever
			time.Sleep(10 * fake.RequestTimeout)
		})
	})
}
