// Package gossipkeys brings core/gossipkeys into scenarios: a controller that
// provisions the Secret and rotates its keys, and an agent on every node that
// gossips with what the Secret says, over the model of fakes/gossip.
//
//	scenario file -> Config, steps        (config.go, names.go, steps.go, attack.go)
//	Build         -> controllers, agents  (system.go, users.go, agent.go)
//	agents        -> fakes/gossip         (environment.go: time, network, trace)
//	observers     -> what happened        (history.go, provisioning.go, delivery.go,
//	                                       ring.go, talking.go, secrecy.go)
//	what happened -> properties, view     (properties.go, breaches.go, view.go)
//
// The processes run the production code as it ships. What this package adds is
// around it: wiring, a ledger of named keys so that scenario files hold no key
// material, and observers at the ports.
//
// For each property the tests plant bugs that it catches:
//
//	go test -run PlantedBugs -v ./scenarios/gossipkeys
//
// The library of scenario files lies in this folder, one per story; Files
// embeds it.
package gossipkeys
