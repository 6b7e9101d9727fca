// Package policy evaluates ValidatingAdmissionPolicies: CEL expressions that say
// which writes a cluster refuses.
//
// The expressions are compiled and evaluated by the libraries of the real API
// server, so they mean here what they mean there. What the real server does with
// informers and in goroutines of its own is not used: the policies, bindings,
// parameters and namespaces of the moment come through [Source], and a policy is in
// force from the write that makes it on, where a real server takes up to a second.
//
//	Compile   a policy → a [Policy]: compiled once, then immutable
//	Validate  a request against all policies → warnings, and a refusal
//	Check     the expressions of a policy that somebody wants to store
//
// Audit annotations are evaluated, as their errors refuse requests, but there is no
// audit log that they could go to.
package policy
