package report_test

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/report"
)

const ms = time.Millisecond

// lostUpdate is a run of two writers of one object, one of them cut off for a while,
// with the records that the simulator leaves.
func lostUpdate() *report.Run {
	const object = "configmaps/default/counter"
	return &report.Run{
		Title: "lost-update", Seed: 7, Hash: "00000000deadbeef", Steps: 42,
		Property: "counts", Meaning: "each of them adds one.", Found: "two writes, and the counter is 1",
		At: 30 * ms, Elapsed: 30 * ms, Again: "seedbed replay lost-update-seed7.replay.json",
		Records: []engine.Record{
			{Step: 0, Kind: "proc", Actor: "node-1/writer", Verb: "start", N: 1, Detail: "starts"},
			{Step: 0, Kind: "proc", Actor: "node-10/writer", Verb: "start", N: 1, Detail: "starts"},
			{Step: 0, Kind: "proc", Actor: "node-2/writer", Verb: "start", N: 1, Detail: "starts"},
			{Step: 0, Kind: cluster.NoteBegin, Verb: "api-latency", N: 1},
			{Step: 0, Kind: cluster.NoteBegin, Verb: "api-loss", N: 2},
			{Step: 1, Kind: cluster.NoteState, Verb: "write", Object: object, N: 5, State: `{"data":{"n":"0"}}`},
			{Step: 2, At: 5 * ms, Kind: "step", Actor: "node-1/writer#1/main"},
			{Step: 3, At: 6 * ms, Kind: cluster.NoteState, Actor: "node-1/writer", Verb: "write", Object: object, N: 6, State: `{"data":{"n":"1"}}`},
			{Step: 3, At: 6 * ms, Kind: cluster.NoteCall, Actor: "node-1/writer", Peer: "apiserver-0", Verb: "update", Object: object, N: 200, Since: 5 * ms},
			{Step: 3, At: 6 * ms, Kind: "api", Actor: "node-1/writer", Verb: "update", Object: object, N: 200, Detail: "update " + object + " -> ok"},
			{Step: 4, At: 8 * ms, Kind: cluster.NoteAnswer, Actor: "node-1/writer", Peer: "apiserver-0", Verb: "update", Object: object, N: 200, Since: 6 * ms},
			{Step: 5, At: 9 * ms, Kind: cluster.NoteEvent, Actor: "node-2/writer", Peer: "apiserver-0", Verb: "update", Object: object, N: 6, Since: 6 * ms},
			{Step: 5, At: 9 * ms, Kind: "watch", Actor: "node-2/writer", Verb: "update", Object: "counter", N: 6, Detail: "its cache sees the update of " + object},
			{Step: 6, At: 10 * ms, Kind: "fault", Actor: "node-2", Verb: "partition", Detail: "FAULT partition: it is cut off from all others"},
			{Step: 6, At: 10 * ms, Kind: cluster.NoteBegin, Actor: "node-2", Verb: "partition", N: 3},
			{Step: 7, At: 12 * ms, Kind: "proc", Actor: "node-2/writer", Verb: "end", Detail: "crashes"},
			{Step: 8, At: 15 * ms, Kind: "proc", Actor: "node-2/writer", Verb: "start", N: 2, Detail: "starts"},
			{Step: 9, At: 17 * ms, Kind: "proc", Actor: "story", Verb: "exit"}, // it is told
			{Step: 9, At: 18 * ms, Kind: "proc", Actor: "node-2/writer", Verb: "pause", Detail: "is paused"},
			{Step: 9, At: 19 * ms, Kind: "proc", Actor: "node-2/writer", Verb: "resume", Detail: "goes on"},
			{Step: 9, At: 20 * ms, Kind: cluster.NoteEnd, N: 3},
			{Step: 10, At: 25 * ms, Kind: cluster.NoteCall, Actor: "node-2/writer", Peer: "apiserver-0", Verb: "update", Object: object, N: 409, Since: 22 * ms},
			{Step: 10, At: 25 * ms, Kind: "api", Actor: "node-2/writer", Verb: "update", Object: object, N: 409, Detail: "update " + object + " -> 409 Conflict"},
			{Step: 11, At: 30 * ms, Kind: "prop", Verb: "broken", Object: "counts", Detail: "property broken: counts: two writes, and the counter is 1"},
		},
	}
}
