package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A recorded run replays exactly, record for record, for any program and source;
// and its schedule survives JSON.
func TestReplayIsExact(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 50
	}
	blocks, picks := 0, 0
	for seed := range seeds {
		cfg := Config{Source: NewSeed(seed), Record: true, Trace: TraceFull}
		if seed%5 == 4 {
			data := make([]byte, 2000)
			r := prng(seed)
			for i := range data {
				data[i] = byte(r.next())
			}
			cfg.Source = NewBytes(data)
		}
		first := runProgram(seed, cfg)
		if first.Err != nil {
			t.Fatalf("seed %d: %+v", seed, first.Err)
		}
		blocks, picks = blocks+len(first.Schedule.Blocks), picks+len(first.Schedule.Picks)
		text, err := json.Marshal(first.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		var s Schedule
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		cfg.Source = NewReplay(s)
		again := runProgram(seed, cfg)
		if first.Hash != again.Hash || again.Diverged || first.Steps != again.Steps {
			at := firstDifference(first.Records, again.Records)
			t.Fatalf("seed %d: diverged %v at record %d: %v, then %v", seed, again.Diverged, at,
				recordAt(first.Records, at), recordAt(again.Records, at))
		}
		if d := cmp.Diff(first.Schedule, again.Schedule); d != "" {
			t.Fatalf("seed %d: the replay records another schedule: %s", seed, d)
		}
	}
	if blocks < int(seeds)*5 || picks < int(seeds)*5 {
		t.Errorf("the programs decide too little: %d blocks, %d picks", blocks, picks)
	}
}

// Any edit of a schedule still gives a run, and the same one each time; what no
// longer fits is reported.
func TestEditedSchedulesReplay(t *testing.T) {
	for seed := range uint64(100) {
		first := runProgram(seed, Config{Source: NewSeed(seed), Record: true})
		r := prng(seed)
		s := first.Schedule
		s.Blocks, s.Picks = nil, nil
		for _, b := range first.Schedule.Blocks {
			switch r.below(4) {
			case 0:
			case 1:
				b.Steps = int(r.below(3)) // also none
				s.Blocks = append(s.Blocks, b)
			default:
				s.Blocks = append(s.Blocks, b)
			}
		}
		for _, p := range first.Schedule.Picks {
			if r.below(3) > 0 {
				s.Picks = append(s.Picks, p)
			}
		}
		s.Picks = append(s.Picks, s.Picks...) // duplicates
		cfg := Config{Source: NewReplay(s), Record: true}
		a := runProgram(seed, cfg)
		b := runProgram(seed, cfg)
		if a.Err != nil || a.Hash != b.Hash {
			t.Fatalf("seed %d: %v, %x and %x", seed, a.Err, a.Hash, b.Hash)
		}
		// What the edited run recorded replays exactly.
		c := runProgram(seed, Config{Source: NewReplay(a.Schedule)})
		if c.Hash != a.Hash || c.Diverged {
			t.Fatalf("seed %d: %x and %x, diverged %v", seed, a.Hash, c.Hash, c.Diverged)
		}
	}
}

func TestDiverged(t *testing.T) {
	cfg := Config{Source: NewSeed(3), Record: true}
	good := runProgram(3, cfg).Schedule
	table := map[string]struct {
		edit func(s *Schedule)
		want bool
	}{
		"unchanged":               {func(*Schedule) {}, false},
		"a task that never comes": {func(s *Schedule) { s.Blocks = append(s.Blocks, Block{"nobody#1/main.1", 1}) }, true},
		"a task at the wrong place": {func(s *Schedule) {
			s.Blocks = append([]Block{{"nobody#1/main.1", 1}}, s.Blocks...)
		}, true},
		"an outcome that does not exist": {func(s *Schedule) { s.Picks[0].Value = 1 << 60 }, true},
		"a pick that is never asked for": {func(s *Schedule) { s.Picks = append(s.Picks, Pick{"x/y", 0, 1}) }, true},
	}
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			s := good
			s.Blocks = append([]Block(nil), good.Blocks...)
			s.Picks = append([]Pick(nil), good.Picks...)
			row.edit(&s)
			if got := runProgram(3, Config{Source: NewReplay(s)}).Diverged; got != row.want {
				t.Errorf("diverged = %v", got)
			}
		})
	}
}

func TestScheduleJSON(t *testing.T) {
	s := Schedule{
		Entropy: 1<<64 - 1,
		Blocks:  []Block{{"a#1/main.1", 3}, {"b#1/main.1", 1}, {"a#1/main.1", 2}},
		Picks:   []Pick{{"delay/a", 0, 1500}, {"fault/drop/a>b", 7, 1}, {"delay/a", 1, 3}},
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"entropy":"ffffffffffffffff","tasks":["a#1/main.1","b#1/main.1"],` +
		`"blocks":[[0,3],[1,1],[0,2]],"labels":["delay/a","fault/drop/a\u003eb"],"picks":[[0,0,1500],[1,7,1],[0,1,3]]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var back Schedule
	if err := json.Unmarshal(got, &back); err != nil || !cmp.Equal(s, back) {
		t.Errorf("read back %v, %v", back, err)
	}
	for text, want := range map[string]string{
		`{"version":2}`:                                  "version 2",
		`{"version":1,"entropy":"x"}`:                    "entropy",
		`{"version":1,"blocks":[[0,1]]}`:                 "block 0",
		`{"version":1,"tasks":["a"],"blocks":[[0,0]]}`:   "block 0",
		`{"version":1,"labels":["a"],"picks":[[1,0,1]]}`: "pick 0",
		`[]`: "cannot unmarshal",
	} {
		if err := json.Unmarshal([]byte(text), &back); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: err = %v", text, err)
		}
	}
}
