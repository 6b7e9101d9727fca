// Package home brings core/home into scenarios: grant Pods on the nodes of a cluster,
// each a process with a home, an agent's books and the loop between.
//
//	scenario file -> Config, steps          (config.go, steps.go, hostile.go)
//	Build         -> Pods, users, claims    (system.go, pods.go, users.go, devices.go)
//	kubelet       -> container, volumes     (volumes.go, agent.go)
//	home's ports  -> the simulated world    (kube.go, filesystem.go, web.go)
//	observers     -> what happened          (life.go, observed.go, health.go, evidence.go,
//	                                         lane.go, secrecy.go)
//	what happened -> properties, view       (properties.go, breaches.go, view.go)
//
// The processes run the production code as it ships. What this package adds is around
// it: the adapters of the ports, the kubelet's side of a Pod (an emptyDir that outlives
// containers and not Pods, a bound token that is rotated), the issuer on the control
// plane's machine, who makes and collects ResourceClaims, and observers at the ports.
//
// It does not judge tokens, serve more than one version of resource.k8s.io at a time,
// or model FIFOs, symbolic links and permissions of files.
//
// For each property the tests plant bugs that it catches:
//
//	go test -run PlantedBugs -v ./scenarios/home
//
// The library of scenario files lies in the folders beside this file, one file per
// story, named by the row of the specification's table that it tells. The rows that no
// file tells are told by tests of core, where what they need can be made at will:
//
//	21  context ends during New           core/home TestNewEndsWithItsContext
//	24  redirect to another host          core/home TestNewRetriesUntilAGrantComes
//	27  rename between two reads          core/home TestALaneShowsEveryFileAtAnyMoment
//	28  two renewals within one tick      core/home TestLane (content decides, not time)
//	38  Run twice, Close at any time      core/home TestRunRunsOnce, TestEndpointHost
//
// Some rows are told by both.
package home
