// Package conformance holds the gossip model against hashicorp/memberlist v0.7.
// It has no code of its own, only tests.
//
// The same scripts (stories_test.go, keystories_test.go) run on both arms: on
// fakes/gossip in a gossip.Lab, and on memberlist over an in-memory transport in
// a testing/synctest bubble. A run yields measures: flags (was there any leave
// event?), times (when was it? how long until all views were complete again?) and
// texts (who lists whom at the end?). The library is not deterministic, so the
// arms are compared as samples: shares by Fisher's exact test, times by the
// Kolmogorov-Smirnov test.
//
//	TestModelAgainstRecord    many runs of the model against many recorded runs of
//	                          the library (testdata/library.json); deterministic
//	TestLibraryAgainstModel   a few fresh runs of the library against the model's
//	                          ranges; skipped by -short
//	TestSuiteCatchesWrongModels  errors planted in the model must be noticed
//	facts_test.go             what can be compared exactly: the keyring call by
//	                          call, defaults, message sizes, ticks
//
// With -v the tests print the table: per script what the specification says, and
// per measure the model beside the library. Times are min | median | 90 % | max.
//
// To run the library more often, and to renew the record (minutes):
//
//	go test ./fakes/gossip/conformance -run TestLibraryAgainstModel -v -gossip.runs 40
//	go test ./fakes/gossip/conformance -run TestLibraryAgainstModel -gossip.runs 80 -gossip.record
package conformance
