// Package clock binds core/clock to the operating system: real time, goroutines
// and the contexts of the standard library.
//
// It is what a production binary hands to core code:
//
//	agent := gossipkeys.NewAgent(clock.New(), …)
//
// The same code runs in the simulator on a simulated process instead. That both
// behave alike is what core/clock/clocktest checks; this package runs it under
// testing/synctest, so that its tests wait for nothing.
package clock
