package cluster

import (
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Profile is a set of faults that a cluster lives with.
type Profile struct {
	Faults []Fault

	// Swarm lets each run draw which of the faults it has, and how many of
	// them: runs with few kinds of fault go further than runs with all.
	Swarm bool

	// CeaseAt is when all faults end; zero means never. What must happen
	// eventually is counted from here.
	CeaseAt time.Duration
}

// Calm is a cluster in which nothing goes wrong but that everything takes time.
func Calm() Profile { return Profile{} }

// Stormy has every kind of fault at its default rate, until the end of minute
// three.
func Stormy() Profile {
	p := Profile{CeaseAt: 3 * time.Minute}
	for _, k := range FaultKinds() {
		if !k.Opt {
			p.Faults = append(p.Faults, Fault{Kind: k.Name})
		}
	}
	return p
}

// Swarm is Stormy in which each run draws a subset of the kinds and scales
// their rates.
func Swarm() Profile {
	p := Stormy()
	p.Swarm = true
	return p
}

// Races looks for races: requests, answers and watch events about objects that several
// use are overtaken by what others write, and processes crash at their requests, until
// the end of minute three. Nothing else goes wrong, so that runs get far. It finds an
// update that is lost between two processes in a tenth of the runs that Stormy needs
// (TestRacesAreFoundSooner in package sim).
func Races() Profile {
	return Profile{CeaseAt: 3 * time.Minute, Faults: []Fault{
		{Kind: "api-overtaken-request"}, {Kind: "api-overtaken-answer"}, {Kind: "watch-overtaken"}, {Kind: "process-crash"},
	}}
}

// Until returns the profile with another end.
func (p Profile) Until(d time.Duration) Profile {
	p.CeaseAt = d
	return p
}

// Without returns the profile without some kinds.
func (p Profile) Without(kinds ...string) Profile {
	return p.keep(func(f Fault) bool { return !slices.Contains(kinds, f.Kind) })
}

// Only returns the profile with some kinds only.
func (p Profile) Only(kinds ...string) Profile {
	return p.keep(func(f Fault) bool { return slices.Contains(kinds, f.Kind) })
}

func (p Profile) keep(ok func(Fault) bool) Profile {
	all := p.Faults
	p.Faults = nil
	for _, f := range all {
		if ok(f) {
			p.Faults = append(p.Faults, f)
		}
	}
	return p
}

// scales are by how much a swarm run multiplies the rate of a fault; the first,
// which shrinking prefers, leaves the fault out.
var scales = []struct{ num, den uint64 }{{0, 1}, {0, 1}, {1, 2}, {1, 1}, {3, 1}}

// draw decides what a swarm run is made of.
func (p Profile) draw(e *engine.Engine) Profile {
	if !p.Swarm {
		return p
	}
	all := p.Faults
	p.Faults = nil
	for _, f := range all {
		k := faultKinds[f.Kind]
		if k == nil {
			p.Faults = append(p.Faults, f) // refused when it starts
			continue
		}
		s := scales[e.Stream("fault/swarm", f.Kind).Intn(len(scales))]
		if s.num == 0 {
			continue
		}
		f = f.withDefaults(k)
		f.Rate = engine.Prob(min(uint64(f.Rate)*s.num/s.den, million))
		p.Faults = append(p.Faults, f)
	}
	return p
}
