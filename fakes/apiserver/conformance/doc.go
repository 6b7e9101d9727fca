// Package conformance compares an API server with recorded answers of a real
// one.
//
// A case is a file: a few requests in order, and for each the parts of the
// answer that are compared, with the values that differ from run to run
// replaced by symbols. testdata/cases holds the cases and a README that defines
// the format; the answers there were recorded from kube-apiserver v1.37.2.
//
// The flow is
//
//	Load ──► Case ──► RunCase ──► Result: one Outcome per step
//	                     │  ▲
//	          HTTP request│  │Answer
//	                     ▼  │
//	                   Target (an http.RoundTripper, or a URL)
//
// [Load] reads files strictly: a field that this package does not know is an
// error, so a case is never half understood. [RunCase] substitutes ${…},
// sends the requests, keeps watches open, and compares every [Answer] as soon
// as it is there. Symbols such as $rv2 are bound to the first value they meet;
// the same symbol must then always meet the same value, two symbols never the
// same one, and $rv1 < $rv2 < … must hold as numbers. That is the same verdict
// as numbering the values afterwards, but a wrong step does not spoil the
// steps after it.
//
// The package starts goroutines only to read open watches. Under
// testing/synctest its waits cost no real time, which is how the tests of the
// fake run it.
//
// [OutOfScope] says which cases the fake is not expected to pass today, and why.
// Whatever it does not name must agree, and a test fails when it names too much.
//
// testdata/told holds cases in the same format that nobody recorded; its README
// says what they are good for. testdata/workloads holds recorded ones with the
// controllers of workloads, which the fake of package controllermanager answers for. [Run] runs a directory as subtests; the tests of
// this package do so with the fake, those of realmode/testenv with a real server.
package conformance
