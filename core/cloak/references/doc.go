// Package references finds where a Pod refers to Secrets.
//
// The webhook swaps what is referred to, and the agent on the node lets a container
// use what it refers to; both must see the same places, or a Pod would get a real value
// or would not be able to use its placeholder.
package references
