package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/disk"
)

// TestEveryFaultStrikesAndIsSurvived runs the storm with one kind of fault at a
// time. Within a few seeds it must strike, and a correct controller must converge
// after it has ceased.
func TestEveryFaultStrikesAndIsSurvived(t *testing.T) {
	for _, k := range cluster.FaultKinds() {
		t.Run(k.Name, func(t *testing.T) {
			o := stormyOptions()
			f := cluster.Fault{Kind: k.Name, Rate: 3 * k.Default.Rate}
			if k.Name == "network-delay" {
				f.Rate = 0
			}
			o.Cluster.Profile = cluster.Profile{Faults: []cluster.Fault{f}, CeaseAt: 3 * time.Minute}
			o.Workers = 1
			struck := 0
			for seed := range uint64(4) {
				var w *sim.World
				r := sim.RunSeed(o, seed, func(fresh *sim.World) { w = fresh; storm(fresh); useDisks(fresh) })
				if r.Err != nil {
					t.Fatalf("seed %d: %v", seed, r.Err)
				}
				struck += w.Strikes(k.Name)
				if err := whole(w); err != nil {
					t.Errorf("seed %d: after faults have ceased: %v", seed, err)
				}
			}
			if struck == 0 {
				t.Error("it never struck")
			}
		})
	}
}

// useDisks gives disk faults something to do.
func useDisks(w *sim.World) {
	for _, n := range w.Nodes() {
		n.Disk()
	}
}

// whole says what is still wrong with a cluster that ought to be well.
func whole(w *sim.World) error {
	if w.Parted() {
		return fmt.Errorf("a link is cut")
	}
	for _, i := range w.Instances() {
		if i.Down() {
			return fmt.Errorf("%s is down", i.Name())
		}
		if i.Server().Visible() != w.Store().Revision() {
			return fmt.Errorf("%s is stale", i.Name())
		}
	}
	for _, n := range w.Nodes() {
		if n.Down() {
			return fmt.Errorf("%s is down", n.Name())
		}
		if c := n.Disk().Options(); c != disk.Harsh() {
			return fmt.Errorf("the disk of %s is still %+v", n.Name(), c)
		}
	}
	for _, p := range w.Processes() {
		if p.Paused() {
			return fmt.Errorf("%s is paused", p.Name())
		}
		if p.Alive() && p.Env().Clock.Now() != w.Engine().Now() {
			return fmt.Errorf("the clock of %s is off by %v", p.Name(), p.Env().Clock.Now().Sub(w.Engine().Now()))
		}
	}
	return nil
}

// TestSwarm sees that runs differ in the kinds of faults they have.
func TestSwarm(t *testing.T) {
	o := stormyOptions()
	o.Cluster.Profile = sim.Swarm()
	mixes := map[string]bool{}
	for seed := range uint64(12) {
		var w *sim.World
		r := sim.RunSeed(o, seed, func(fresh *sim.World) { w = fresh; storm(fresh) })
		if r.Err != nil {
			t.Fatalf("seed %d: %v", seed, r.Err)
		}
		mixes[fmt.Sprint(w.Struck())] = true
	}
	if len(mixes) < 10 {
		t.Errorf("12 seeds had only %d different mixes of faults", len(mixes))
	}
}
