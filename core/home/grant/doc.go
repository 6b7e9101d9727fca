// Package grant is what a grant says, and whether it is genuine.
//
// A grant is signed permission to run up to so many workers of one template in one
// home until its lease ends. It is a JSON web token of the issuer, the controller, with
// the grant as one of its claims.
//
// [Peek] reads a token's id and times and trusts nothing. [Verifier] says what is
// genuine, with the keys that [Cache] holds. Whether a lease has ended is for the
// agent to say, not for the verifier: a grant that has lapsed is no forgery.
//
//	token ─ Verifier.Verify ─▶ Grant
//	            ▲
//	          Cache ◀─ Refresh ─ Web ◀─ the issuer's discovery document and key set
package grant
