// Package deploy makes the manifests by which the programs of this project are installed:
//
//	kubectl apply -k realmode/deploy/crds
//	kubectl apply -k realmode/deploy/cluster
//	kubectl apply -k realmode/deploy/node
//
// They are made of what the code declares, so that an account may do what its program does
// and nothing else; go generate writes them, and a test fails when they are out of date.
//
//	roles.go      permissions, from the grants of realmode/controller
//	workloads.go  accounts, Deployments and their Services
//	node.go       the agents of nodes
//	webhook.go    which requests API servers ask the webhook about
//	files.go      which object is in which file
//
// The controllers and the webhook have accounts of their own: the one writes Secrets and
// serves nobody, the other serves API servers and writes nothing.
//
// The certificate of the webhook is the Secret seedbed-webhook-tls, for the name
// seedbed-webhook.seedbed-system.svc; who signed it must be in the caBundle of the webhook
// configurations. The annotations there let cert-manager do that, if it is installed.
package deploy

//go:generate go run ./generate
