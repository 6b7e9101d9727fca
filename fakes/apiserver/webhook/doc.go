// Package webhook makes admission hooks of webhook configurations: what
// controller-gen writes to config/webhook is taken as it is, and an HTTP handler in the
// same process answers, as the webhook server of a controller-runtime manager does.
//
//	configuration ─▶ Mutating, Validating ─▶ admission.Hook ─▶ Ask ─▶ AdmissionReview ─▶ handler
//
// Nobody listens on a port: the address in a configuration only gives the path. Reviews
// are of admission.k8s.io/v1, and of the version that the request was made in
// (matchPolicy Equivalent is as Exact). Configurations that are stored in the API server
// call nobody; see package registry.
package webhook
