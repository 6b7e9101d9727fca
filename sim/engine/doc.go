// Package engine is a deterministic simulator of concurrent processes in virtual
// time.
package engine
