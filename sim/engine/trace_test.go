package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// goldenHashes are the hashes of seeds 0 to 9. They change only if the engine's
// meaning of a seed changes, which breaks every replay file and must be on purpose.
const goldenHashes = "3242b4cacc9462cb"

// hashes returns a hash over the runs of ten seeds.
func hashes(edit func(*Config)) string {
	var h uint64
	for seed := range uint64(10) {
		cfg := Config{Source: NewSeed(seed)}
		edit(&cfg)
		r := runProgram(seed, cfg)
		h = mix(mix(h, r.Hash), r.Steps)
	}
	return fmt.Sprintf("%016x", h)
}

// The hash is the same whatever is kept, and what a seed means is fixed.
func TestHashIsTheSame(t *testing.T) {
	for name, edit := range map[string]func(*Config){
		"hash only":   func(*Config) {},
		"all records": func(c *Config) { c.Trace = TraceFull },
		"with notes":  func(c *Config) { c.Trace = TraceNotes },
		"recording":   func(c *Config) { c.Record = true },
		"watched":     func(c *Config) { c.Stall = time.Hour },
	} {
		if got := hashes(edit); got != goldenHashes {
			t.Errorf("%s: %s, want %s", name, got, goldenHashes)
		}
	}
}

// Other processes, processors and collectors give the same hash.
func TestHashIsTheSameInOtherProcesses(t *testing.T) {
	if os.Getenv("SEEDBED_CHILD") != "" {
		fmt.Println("hash", hashes(func(*Config) {}))
		return
	}
	for _, env := range []string{"GOMAXPROCS=1", "GOMAXPROCS=4", "GOGC=5", "GODEBUG=asyncpreemptoff=1"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHashIsTheSameInOtherProcesses$")
		cmd.Env = append(os.Environ(), "SEEDBED_CHILD=1", env)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "hash "+goldenHashes) {
			t.Errorf("%s: %v\n%s", env, err, out)
		}
	}
}

// Every part of an event is in the hash, except the detail.
func TestHashCoversEvents(t *testing.T) {
	base := Event{Kind: "api", Actor: "node-1", Verb: "update", Object: "secrets/ns/name", N: 7}
	hash := func(edit func(*Event)) uint64 {
		e := New(Config{Source: NewSeed(1), Trace: TraceFull})
		ev := base
		edit(&ev)
		e.Emit(ev)
		return e.Run().Hash
	}
	want := hash(func(*Event) {})
	for name, edit := range map[string]func(*Event){
		"kind": func(e *Event) { e.Kind = "sys" }, "actor": func(e *Event) { e.Actor = "node-2" },
		"verb": func(e *Event) { e.Verb = "create" }, "object": func(e *Event) { e.Object += "x" },
		"n": func(e *Event) { e.N++ }, "swapped": func(e *Event) { e.Actor, e.Verb = e.Verb, e.Actor },
	} {
		if hash(edit) == want {
			t.Errorf("%s is not in the hash", name)
		}
	}
	if hash(func(e *Event) { e.Detail = func() string { return "x" } }) != want {
		t.Error("the detail is in the hash")
	}
}

func TestRecords(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		_ = p.Sleep(ctx, second)
		w.Emit(Event{Kind: "sys", Actor: "p", Verb: "said", Object: "it", N: 3, Detail: func() string { return "more" }})
	})
	got := w.mustRun().Records
	want := []Record{
		{Kind: "proc", Actor: "p", Verb: "start", N: 1},
		{Step: 1, Kind: "step", Actor: "p#1/main.1", Verb: "start"},
		{Step: 2, At: second, Kind: "step", Verb: "event", N: 1},
		{Step: 3, At: second, Kind: "step", Actor: "p#1/main.1", Verb: "sleep"},
		{Step: 3, At: second, Kind: "sys", Actor: "p", Verb: "said", Object: "it", N: 3, Detail: "more"},
		{Step: 3, At: second, Kind: "proc", Actor: "p", Verb: "exit", N: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if s := got[4].String(); s != "[3 1s sys] p said it 3" {
		t.Error(s)
	}
}

// Notes stand among the records and change nothing.
func TestNotes(t *testing.T) {
	run := func(level TraceLevel) Result {
		e := New(Config{Source: NewSeed(1), Trace: level})
		e.After(second, func(any) {
			e.Note(Record{Kind: "state", Actor: "p", Object: "it", Since: 1, Peer: "q", State: "{}"})
			e.Emit(Event{Kind: "sys", Verb: "said"})
		}, nil)
		return e.Run()
	}
	with, without := run(TraceNotes), run(TraceFull)
	if with.Hash != without.Hash {
		t.Error("notes are in the hash")
	}
	step, said := without.Records[0], without.Records[1]
	want := []Record{step, {Step: 1, At: second, Kind: "state", Actor: "p", Object: "it", Since: 1, Peer: "q", State: "{}"}, said}
	if d := cmp.Diff(want, with.Records); d != "" {
		t.Error(d)
	}
	if len(without.Records) != 2 {
		t.Errorf("%d records without notes, want 2", len(without.Records))
	}
}

func TestDetailIsNotAskedForWithoutRecords(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Trace = TraceHash })
	w.Emit(Event{Detail: func() string { t.Error("asked"); return "" }})
}

func TestCheckReplay(t *testing.T) {
	run := func(level TraceLevel, who func() string) func() Result {
		return func() Result {
			e := New(Config{Source: NewSeed(1), Trace: level})
			e.Emit(Event{Kind: "sys", Verb: "first"})
			e.Emit(Event{Kind: "sys", Actor: who(), Verb: "second"})
			return e.Run()
		}
	}
	n := 0
	count := func() string { n++; return fmt.Sprint("run-", n) }
	if err := CheckReplay(run(TraceFull, func() string { return "same" }), 3); err != nil {
		t.Error(err)
	}
	for level, want := range map[TraceLevel]string{
		TraceFull: "they part at record 1: [0 0s sys] run-2 second, the first run [0 0s sys] run-1 second",
		TraceHash: "run with TraceFull to see the first difference",
	} {
		n = 0
		if err := CheckReplay(run(level, count), 3); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("err = %v", err)
		}
	}
	long := func() Result {
		e := New(Config{Source: NewSeed(1), Trace: TraceFull})
		for range n {
			e.Emit(Event{Kind: "sys"})
		}
		n++
		return e.Run()
	}
	n = 1
	if err := CheckReplay(long, 1); err == nil || !strings.HasSuffix(err.Error(), "the first run nothing (the run is over)") {
		t.Errorf("err = %v", err)
	}
}

// Properties are checked after the steps that touched something, and only those.
func TestOnTouched(t *testing.T) {
	w := newWorld(t)
	checks := 0
	broken := fmt.Errorf("property broken")
	w.OnTouched(func() error {
		checks++
		if w.Elapsed() >= 3*second {
			return broken
		}
		return nil
	})
	w.process("p", func(p *Process, ctx context.Context) {
		for range 10 {
			_ = p.Sleep(ctx, second)
			w.Touch()
			w.Touch()
			p.Yield(opGet)
		}
	})
	r := w.Run()
	if !errors.Is(r.Err, broken) || checks != 3 || r.Elapsed != 3*second {
		t.Errorf("err %v after %d checks at %v", r.Err, checks, r.Elapsed)
	}
}

// TestTheTraceIsReadAsItIsMade, in words, whether anything of it is kept or not, and the
// hash stays.
func TestTheTraceIsReadAsItIsMade(t *testing.T) {
	run := func(level TraceLevel, read func(Record)) Result {
		e := New(Config{Source: NewSeed(1), Trace: level})
		if read != nil {
			e.OnRecord(read)
		}
		e.After(second, func(any) {
			e.Note(Record{Kind: "state", Object: "it"})
			e.Emit(Event{Kind: "sys", Verb: "said", Detail: func() string { return "more" }})
		}, nil)
		return e.Run()
	}
	unread := run(TraceHash, nil)
	said := Record{Step: 1, At: second, Kind: "sys", Verb: "said", Detail: "more"}
	noted := Record{Step: 1, At: second, Kind: "state", Object: "it"}
	for level, want := range map[TraceLevel][]Record{TraceHash: {said}, TraceFull: {said}, TraceNotes: {noted, said}} {
		var got []Record
		r := run(level, func(r Record) { got = append(got, r) })
		if d := cmp.Diff(want, got); d != "" || r.Hash != unread.Hash {
			t.Errorf("level %v, hash %x, unread %x (-want +read):\n%s", level, r.Hash, unread.Hash, d)
		}
		if level == TraceHash && len(r.Records) > 0 {
			t.Errorf("what was read is kept: %v", r.Records)
		}
	}
}
