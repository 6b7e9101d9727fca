// Package secretsync makes the data plane of a node hold the cluster's protected
// secrets, and lets containers use those that their Pods refer to.
//
// What is to be loaded is the join of Secrets and their shadows ([Desired]). What is
// loaded already is read from the data plane each time, so maps that drifted, or that an
// agent of before has left, come right as well.
//
// The order of a [Syncer.Sync] is what makes it safe: whatever goes or gets narrower
// goes first, and nothing gets wider before all of that is done. A list that fails
// changes nothing. A list that is empty empties the maps.
package secretsync
