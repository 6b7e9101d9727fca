// Package cloak brings core/cloak into scenarios: an agent on every node, the webhook,
// and workloads that hold placeholders and send them to servers, over the models of
// fakes/kernel and fakes/nri.
//
//	scenario file -> Config, steps            (config.go, names.go, steps.go)
//	Build         -> agents, nodes, workloads (system.go, agent.go, pods.go)
//	workloads     -> servers                  (app.go, servers.go)
//	observers     -> what happened            (evidence.go, secrecy.go)
//	what happened -> properties, view         (properties.go, view.go)
//
// The agents run the production code as it ships. Values of secrets are called by names
// in scenario files; whatever a Pod, a log or an event can see is searched for them.
//
// For each property the tests plant bugs that it catches:
//
//	SEEDBED_SEEDS=1 go test -run PlantedBugs -v ./scenarios/cloak
package cloak
