// Package controllermanager is the controllers of kube-controller-manager that the
// author of another controller observes, as passive state machines over an API
// server: who deletes dependents, empties namespaces, and fills in what users did
// not write.
//
// # What is in it
//
//	Manager   the controllers of one incarnation of the process; made by New
//	Loop      one work queue of theirs, and what is done about a request in it
//	Runner    a Manager over one API server, driven by hand; made by Attach
//
// The controllers have the names of the flag --controllers; [Controllers] lists
// them:
//
//	garbage-collector-controller                 collector*.go, graph.go, references.go
//	namespace-controller                         namespaces.go, namespaceconditions.go
//	serviceaccount-controller                    accounts.go
//	root-ca-certificate-publisher-controller     accounts.go
//	resourcequota-controller                     quotas.go
//	clusterrole-aggregation-controller           roles.go
//	replicaset-controller                        replicaset*.go, expectations.go, adoption.go, podorder.go
//	deployment-controller                        deployment*.go
//	endpointslice-controller                     endpointslice*.go, endpointpods.go
//	endpoints-controller                         endpoints.go, endpointpods.go
//	persistentvolumeclaim-protection-controller  claimprotection.go
//	persistentvolume-protection-controller       volumeprotection.go
//
// Those that tell Events do so through events*.go: in a loop of its own, combined and
// counted as client-go does.
//
// # How it is driven
//
// A Manager has no goroutine, no queue and no watch of its own. Its driver
//
//  1. gives each of its Loops a Queue,
//  2. watches every resource in [Manager.Watched], and hands each change to
//     [Manager.Observe] once its Cache has it,
//  3. calls the Reconcile of a Loop for what is in its queue, never twice at once
//     for the same request, and again after a back-off when it fails,
//  4. calls [Manager.Rediscover] now and then.
//
// Reconcile blocks in [API.Call]: over an *apiserver.Server that takes no time, in a
// simulated cluster anything may happen meanwhile. So there is one implementation of
// what the controllers decide, and two drivers: [Runner] in this package, for tests
// and for recorded cases, and a simulated process in sim/cluster, with latency,
// stale caches and crashes.
//
// # What is as in the real ones
//
// The order of requests and their preconditions, the texts of conditions, delays
// (a namespace is left alone for its first five seconds), what is read from a cache
// and what from the API, the graph of the collector with its virtual nodes and its
// memory of owners that are known to be absent. A ReplicaSet of a Deployment has the
// very name that it has in a real cluster: the hash is the same. Where the real ones follow the order
// of a Go map, Options.Pick chooses.
//
// # What is not here
//
// No StatefulSet, DaemonSet, Job and CronJob, no mirrors of Endpoints that a user has
// made, no scheduler, no node lifecycle, no tokens, certificates and volumes. The
// collector writes no Event about an owner in another namespace. Quotas count without
// scopes. A ReplicaSet makes and deletes its pods one after another, not at once; a
// Deployment knows no rollback by annotation, which no kubectl has asked for since
// apps/v1. EndpointSlices have no hints about zones.
package controllermanager
