// Package encryption brings core/encryption into scenarios: a control plane of
// several nodes, each with an API server that loads an encryption configuration of
// its own, the controllers as processes of which one leads, agents that bring
// configurations to nodes, and people who change their mind.
//
//	scenario file -> Config, steps            (config.go, steps_*.go)
//	Build         -> controllers, nodes       (system.go, leader.go, node.go, users.go)
//	nodes         -> kubelets, agents         (kubelet.go, agent.go, health.go)
//	API servers   -> fakes/apiserver          (server.go, identity.go, aggregated.go)
//	observers     -> what happened            (history.go, observed.go)
//	what happened -> properties, view         (properties*.go, view.go)
//
// The processes run the production code as it ships. What this package adds is
// around it: kubelets that run API servers and KMS plugins from the manifests that
// agents write, users who write, and observers at the ports.
package encryption
