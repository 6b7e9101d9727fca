// Package mirror is a small system for the tests and examples of scenarios: a
// controller that keeps a copy, in the namespace copies, of each ConfigMap in the
// namespace originals. It can be configured to be careless in two ways, so that
// tests have something to find.
//
// It is also the shortest complete example of what a system brings: a
// configuration, a process, a view, a step and properties. It is registered with
// scenarios.New like any other system and is no part of the built-in library.
package mirror
