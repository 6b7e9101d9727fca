// Package report turns the trace of one run into what a person can read: a page of
// HTML that needs nothing but a browser, or a Mermaid diagram for a pull request.
//
//	records (engine.TraceFull) → [Run] → [Draw] → [Drawing] → WriteHTML, WriteMermaid
//	                               ↕
//	              WriteTrace, ReadTrace: a file of JSON lines
//
// A [Drawing] has a lane for each process, API server and node, the events that have
// words, arrows for requests, answers and watch events, bands for what was wrong or
// down, and each state that an object had. It comes from the events of the trace and
// from the notes that package sim/cluster leaves beside them; a trace without notes
// gives a drawing without arrows and states.
//
// The page holds its data compressed and draws it itself. It asks for nothing over
// the network. When a run is too long for a page of [PageLimit] bytes, the states of
// objects are left out first and then the oldest events, and the page says so.
//
// The package does not run anything, knows no scenario and reads no clock.
package report
