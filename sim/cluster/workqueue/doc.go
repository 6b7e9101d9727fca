// Package workqueue is the queue between a controller's watches and its
// workers, in virtual time.
//
// It keeps the contract of controller-runtime's priority queue, which is what
// a controller-runtime 0.25 controller runs on:
//
//   - a request is in the queue at most once, however often it is added;
//   - a request that is being worked on is never handed out a second time; if
//     it is added meanwhile it waits until Done;
//   - higher priority first, then first come first served;
//   - a delayed add of a request that already waits keeps the earlier time, and
//     an add without delay makes a waiting request ready at once;
//   - failures of a request delay its next attempt: base·2ⁿ up to a maximum.
//
// There is no lock, no goroutine and no channel: the engine runs one thing at a
// time. The queue belongs to one incarnation of a process and is thrown away
// with it, by Shutdown.
package workqueue
