// Package encryption keeps the objects of a cluster encrypted in etcd: it makes
// keys, lets every API server read and then write with them, rewrites all objects,
// and drops the keys that nothing is encrypted with any more. At no instant does an
// API server meet data that it cannot read.
//
// # How it works
//
// A few controllers share no memory. What they know is in the cluster: key Secrets,
// a managed Secret with the configuration that API servers should load, what API
// servers do load, and the conditions of the EncryptionPolicy.
//
//	policy ──► Key ──► key Secrets ──► State ──► managed configuration
//	            ▲           ▲  │                        │
//	KMSPreflight┘           │  └─────► Prune         Rollout
//	                        │                           ▼
//	                    Migration ◄── Deployer ◄── API servers load a revision
//	                                     │
//	                                 Condition ──► Encrypted
//
// Each sync works everything out anew, from live reads, and takes at most one step;
// a controller that dies between two writes goes on where it was. Nothing is done
// while API servers differ in what they run. What comes next is the arithmetic of
// package state.
//
//	component.go   what the controllers of one component share
//	frame.go       when a controller runs, and how it reports
//	look.go        what is deployed, which keys there are, what should be
//	key.go         Key: whether a new key is needed, and which
//	managed.go     State: the next configuration
//	rollout.go     Rollout: its revisions, which are what API servers load
//	migration.go   Migration: the rewriting of objects (and migration_note.go)
//	prune.go       Prune: the end of old keys
//	encrypted.go   Condition: what to tell people
//	instances.go   Instances: what API servers run, for people
//	kek.go         KEK: rewriting when who keeps the key of a plugin has rotated it
//	inplace.go     how the plugin of a key is changed in place, by Key and State
//	deadplugin.go  how Key gives up a key whose plugin is dead
//	fallback.go  the way back from a key that cannot write any more
//	loss.go      Loss: what nobody can read as a plugin is dead
//	pluginhealth.go  what nodes report of plugins
//	preflight.go   KMSPreflight: whether a plugin is fit to be used
//	approval.go    how Key and KMSPreflight agree on what was tried
//
// # What it does not do
//
// It does not bring configurations to API servers, nor rewrite objects: it has the
// ports [Deployer] and [Migrator] for that, which the packages deployer and migration,
// or storagemigration, provide; nodeagent is what runs on each node. It does not protect from somebody who
// may read Secrets in its namespace.
//
// # Departures from the reference
//
// The names are those of OpenShift's library. Different are the ports, which are
// narrow, and the protections marked as ours in the documentation of each
// controller.
package encryption
