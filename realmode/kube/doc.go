// Package kube binds core/kube to a real cluster: it drives the controllers that core
// declares, and gives them a live client and a cache that holds what they watch.
//
//	cfg, err := kube.LoadConfig(kubeconfig)
//	c, err := kube.Connect(cfg, kube.Options{…})
//	err = c.Run(ctx, controllers...)
//
// In files:
//
//	config.go       how to reach the cluster, by a kubeconfig or as a Pod does
//	cluster.go      the connection: live client, kinds, limits
//	cache.go        what watches hold, to be read
//	drive.go        controllers on controller-runtime, by the contract of kube.Controller
//	events.go       Events about objects
//	definitions.go  whether the kinds of core are installed
//	permissions.go  whether this account may do what is declared
//	logs.go         what libraries log
//
// # What is cached
//
// Exactly what controllers declare to watch, each watch by itself with its namespace, name,
// labels and fields: one that names an object has a field selector and holds that one, so RBAC
// can be as narrow as the declaration. To read a kind from the cache that nobody watches is
// an error, where the simulator and controller-runtime would begin to watch all of it:
// nobody comes by all Secrets of a cluster by accident. Managed fields are left out. Lists
// from the cache are in order of namespace and name, as in the simulator.
//
// # What it shares with package home
//
// The configuration of the connection, and nothing else: the agent of a Pod makes four
// calls, caches nothing and is gone in an instant, and its port is as small as that.
package kube
