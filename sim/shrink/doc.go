// Package shrink makes a failing schedule small: fewest faults, fewest switches
// between tasks, least delays.
//
// It knows nothing but [engine.Schedule] and a function that runs a schedule and says
// whether it still fails:
//
//	small := shrink.Shrink(bad.Schedule, func(s engine.Schedule) bool {
//		return run(engine.NewReplay(s)).Err != nil
//	}, shrink.Budget{Runs: 500})
//
// It tries, in a fixed order and again until nothing helps:
//
//  1. nothing at all, no picks, no blocks;
//  2. without whole kinds of faults, then without whole streams;
//  3. without whole processes, then without whole tasks;
//  4. without stretches of picks and of blocks, halving (ddmin);
//  5. with two blocks of a task made one, so that there is one switch less;
//  6. with shorter blocks;
//  7. with smaller values, so that delays go to their least;
//  8. with other random bytes.
//
// That works because a schedule addresses tasks and streams by name: taking a part
// away leaves the meaning of the rest.
//
// The package does not read the clock; a limit of real time is a function of the
// caller's. It does not run anything itself.
package shrink
