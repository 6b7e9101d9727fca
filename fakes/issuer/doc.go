// Package issuer is the controller that issues grants: the grant endpoint, the
// discovery document and the key set, with everything that can be wrong about them.
//
// It answers requests in memory, through [Issuer.Get], which is grant.Web of core, and
// real ones through [Issuer.Handler]. The tokens are signed for real. A client is known
// by its bearer token: see [Issuer.Trust].
//
//	issuer := issuer.New(issuer.Config{…})
//	issuer.Trust("token", issuer.Pod{…})
//	issuer.Behave(issuer.Behaviour{Status: 503, Times: 3})
package issuer
