// Package gossipkeys brings core/gossipkeys into scenarios: a controller that
// provisions the Secret and rotates its keys, and an agent on every node that
// gossips with what the Secret says, over the model of fakes/gossip.
//
//	scenario file -> Config, steps        (system.go, steps*.go)
//	Build         -> controller, agents   (controller.go, agent.go)
//	agents        -> fakes/gossip         (environment.go: time, network, trace)
//	observers     -> properties           (record.go, property_*.go)
//
// The processes run the production code as it ships. What this package adds is
// around it: wiring, a ledger of named keys so that scenario files hold no key
// material, and observers at the ports.
//
// The library of scenario files lies in this folder, one per story; Files
// embeds it.
package gossipkeys
