package explore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

func TestStrategiesAreReadByName(t *testing.T) {
	selected, err := Parse("pct, swarm+uniform,crash,mix")
	if err != nil {
		t.Fatal(err)
	}
	all := selected.Strategies
	if len(selected.Plans) != 1 || len(all) != 2+len(Mix()) || all[0].Name != "pct" || all[0].Swarm || all[1].Name != "swarm+uniform" || !all[1].Swarm {
		t.Errorf("%+v", all)
	}
	chances, err := Parse("chance+travel")
	if err != nil || len(chances.Plans) != 0 || len(chances.Strategies) != 1 {
		t.Errorf("%+v, %v", chances, err)
	}
	var unknown *UnknownStrategyError
	if _, err := Parse("pct,swarm+luck"); !errors.As(err, &unknown) || unknown.Name != "swarm+luck" {
		t.Errorf("%v", err)
	}
	if _, err := Parse("chance+pct"); !errors.As(err, &unknown) || unknown.Name != "chance+pct" {
		t.Errorf("%v", err)
	}
	for _, s := range Mix() {
		if named(s.Name) == nil && !s.Swarm && s.plan == nil {
			t.Errorf("%s is not listed", s.Name)
		}
	}
}

// A strategy of a plan has the plan's faults and no others.
func TestChanceHasThePlansFaults(t *testing.T) {
	selected, err := Parse("chance+travel")
	if err != nil {
		t.Fatal(err)
	}
	run := Random(selected.Strategies, Survey{}, Seeds{First: 1}).Next(1)[0]
	plan, _ := PlanOf(run.Plan)
	if plan.Name != "travel" || run.Search != "chance+travel" || len(run.Faults) != len(plan.Faults) || run.Faults[0].Rate == 0 {
		t.Errorf("%+v", run)
	}
}

// Plans that do not fit stay out of the mix, also where it is what guided search begins
// with; those that somebody asks for stay.
func TestPlansThatDoNotFitStayOutOfTheMix(t *testing.T) {
	asked, err := Parse("mix,chance+travel")
	if err != nil {
		t.Fatal(err)
	}
	none := func(Plan) bool { return false }
	plans := 0
	for _, s := range asked.Fitting(none).Strategies {
		if s.plan != nil {
			plans++
		}
	}
	if plans != 1 {
		t.Errorf("%d strategies of plans are left, want the one that was asked for", plans)
	}
	for _, run := range New(Selection{Guided: true}.Fitting(none), Survey{}, Seeds{Count: 100}).Next(100) {
		if run.Plan != "" {
			t.Fatalf("guided search makes a run of %s", run.Plan)
		}
	}
}

// The parts of a search make each run of the whole once, the same way.
func TestShardsMakeTheWhole(t *testing.T) {
	runs := func(shard Shard) map[uint64]string {
		made := map[uint64]string{}
		search := Random(Mix(), Survey{}, Seeds{First: 7, Count: 100, Shard: shard})
		for next := search.Next(9); len(next) > 0; next = search.Next(9) {
			for _, r := range next {
				made[r.Seed] = r.Search
			}
		}
		return made
	}
	whole, parts := runs(Shard{}), map[uint64]string{}
	for i := range uint64(3) {
		for seed, search := range runs(Shard{Index: i, Count: 3}) {
			if parts[seed] != "" {
				t.Errorf("seed %d is run twice", seed)
			}
			parts[seed] = search
		}
	}
	if diff := cmp.Diff(whole, parts); diff != "" || len(whole) != 100 {
		t.Errorf("%d runs\n%s", len(whole), diff)
	}
}

func TestCoverage(t *testing.T) {
	write := func(actor, object string) engine.Event {
		return engine.Event{Kind: "api", Actor: actor, Verb: "update", Object: object, N: 200}
	}
	take := func(events ...engine.Event) *Coverage {
		c := NewCoverage()
		for _, ev := range events {
			c.Observe(ev)
		}
		return c
	}
	m := NewMap()
	a, b, other := write("a", "secrets/x"), write("b", "secrets/x"), write("a", "secrets/y")
	if edges, states := m.Add(take(a, b)); edges != 2 || states != 2 {
		t.Errorf("%d new edges, %d new states", edges, states)
	}
	if edges, states := m.Add(take(a, b)); edges+states != 0 {
		t.Errorf("the same again: %d new edges, %d new states", edges, states)
	}
	if edges, states := m.Add(take(b, a)); edges+states != 0 {
		t.Errorf("in another order: %d new edges, %d new states, although each is known", edges, states)
	}
	if _, states := m.Add(take(a, other)); states != 1 {
		t.Errorf("another object: %d new states", states)
	}
	refused := a
	refused.N = 409
	if edges, states := m.Add(take(refused)); edges != 1 || states != 0 {
		t.Errorf("a refusal: %d new edges, %d new states", edges, states)
	}
}
