// Package leaderelection lets one of several processes lead, by a Lease that it
// renews.
//
// It is the protocol of client-go, so candidates of either kind may compete for one
// Lease, on the clock of core/clock. A leader may be wrong about it: one that was
// paused for longer than the Lease lasts goes on for a moment beside the next. So a
// leader has an epoch, which is higher than those of all leaders before. Who writes
// what another must not overwrite writes the epoch with it, and refuses to write over
// a higher one.
package leaderelection
