// Package tokens issues and checks the tokens of service accounts: JSON Web Tokens,
// signed by a key of their issuer's own, as a real API server makes them.
//
// An [Issuer] knows nothing of objects. It says whether a token is one of its own,
// meant for an audience and not expired; whether the account, and the object that
// the token is bound to, still exist is for the server to see.
//
// The key and the ids of tokens come from the entropy that the issuer is given and
// the times from its clock; signatures are deterministic (RFC 6979). The same
// requests therefore make the same tokens.
package tokens
