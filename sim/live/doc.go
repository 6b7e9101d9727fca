// Package live drives a simulated cluster for clients of the real world: kubectl, a
// controller under a debugger, a load test.
//
// Everything else in package sim runs on one goroutine, in virtual time, as fast as
// it can. Here one goroutine, that of [Driver.Run], owns the engine as well, but it
// lets virtual time keep pace with a clock, and between two pieces of the run it takes
// what comes from outside:
//
//	goroutines of clients ── Call, OpenWatch ──▶ Driver.Run ──▶ engine ──▶ API server
//	                      ◀── answers, events ──            ◀──
//
// A request becomes an event at the present virtual time, reaches an API server as
// the request of a [cluster.Visitor], and is answered at once in real time, whatever
// the speed is and though time may stand still. Events of watches are there for their
// readers as soon as they happen; a reader who does not read is cut off once it has
// missed as much as the history holds.
//
// # Speeds
//
// [Speed] says how fast virtual time passes: as fast as real time, so many times as
// fast, or [Max]: from event to event without waiting, standing still while nothing is
// due. [Driver.Pause] stops it, and [Driver.Step] lets so much of it pass. A cluster
// that cannot keep up falls behind; it does not try to make up for that later.
//
// # What can be replayed
//
// What comes from outside, and when, depends on the real world: two live runs of one
// seed differ. But between two inputs a live run is a function of its seed as any
// other, and a [Journal] keeps each input with the virtual time of its arrival: every
// request, every fault switched on or off. [Replay] makes the same run from it, with
// the same hash, in no time.
//
// Not part of the run, and in no journal: how fast time passed, when the events of a
// watch were read, requests for discovery, and requests refused before they reach
// the API, such as those with a wrong token.
package live
