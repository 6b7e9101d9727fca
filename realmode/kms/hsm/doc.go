// Package hsm keeps the key of a KMS plugin in a PKCS#11 token: a hardware security
// module, or software such as SoftHSM that behaves like one.
//
//	config.go    which token and which key
//	provider.go  sealing and opening, by the token
//	token.go     the session with it
//	nocgo.go     the error of builds without cgo, which cannot load a module
//
// A key is all secret AES-256 keys of one label; their CKA_ID is the number of the
// version, in decimal, and the highest seals. Keys are made in the token, sensitive and
// not extractable, so they never leave it. A version is named by its label, its number and
// a check value: what the key makes of one fixed block, cut to 8 bytes. Replicas whose
// tokens hold the same keys so have the same names.
//
// A module is a C library that runs inside of this process, and is trusted as such. A
// call to it cannot be cut short: while one hangs all others wait, clients give up by
// themselves, and Status tells that the key was not tried for too long.
package hsm
