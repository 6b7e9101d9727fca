// Package kms is a KMS v2 plugin: the server by which an API server has its seeds
// encrypted with a key that it never sees. The program is cmd/seedbed-kms.
//
//	provider.go  the port behind which the key is: localkey, vault and hsm
//	keeper.go    which version of the key seals, and whether it works: it is tried
//	plugin.go    Status, Encrypt and Decrypt
//	limits.go    what is refused, coming in and going out
//	socket.go    the socket: who may connect, and how it changes hands
//	server.go    the life of it all
//	metrics.go   what is counted
//
// Calls come through k8s.io/kms. Encrypt seals with the version that Status names, both
// from the keeper: it asks the provider every few seconds which version seals, and takes
// another one only after it has sealed and opened something with it. A version that was
// replaced is never taken again, whatever the provider says; then, and whenever something
// does not work, Status tells so, and what there is goes on.
//
// # Security
//
// Who can use the plugin can have every seed opened that its API servers have stored, so
// the socket is the key to everything:
//
//   - The socket has the mode 0600, from before it has its name. Its directory is made
//     with 0700, and refused if anybody but its owner may write there, since who can put
//     another socket in its place is sent the next seed in clear. --shared-directory
//     gives that up, for an emptyDir that only the containers of one Pod see.
//   - Abstract sockets have no modes, and are refused.
//   - A socket on which somebody answers is never taken, except with --take-over; one
//     that is left over is replaced. Two that start at once wait for each other on a
//     locked file beside the socket (0600).
//   - Root, and who runs as the plugin's user, can do all that the plugin can.
//
// Who can read what:
//
//   - A key file (localkey, 0600) holds all versions of the key in clear. Who has it, or
//     a backup of it, and a copy of etcd, has everything. It protects a stolen disk or
//     backup of etcd alone, and not the node; put the file elsewhere than etcd's data.
//     It is refused if anybody else could have read it, as are files with tokens and ids.
//   - With a Vault, the key does not leave it. A stolen token can open seeds until it is
//     revoked, and leaves its trace in the Vault's log; a copy of etcd alone is nothing.
//     The token and seeds are in the memory of this process, and in TLS on their way.
//   - With a PKCS#11 token the key does not leave it either; who has the PIN and the
//     device, or is this process, can use it.
//   - The memory of the process holds a local key, or a token or PIN, and seeds in passing. It is locked
//     against swapping where the limits of the process allow it, cannot be dumped or
//     traced by others of the same user, and is not wiped: Go's collector moves and copies
//     as it likes. What was read from a file is cleared once it is understood.
//
// What leaks on a compromise of one of them:
//
//   - etcd or its backup: nothing but ids of versions, which tell numbers and when
//     rotations were, and of a Vault the path of the key.
//   - The plugin's process, socket or key file: every seed, so all that its API servers
//     have ever stored. Rotate, and have all written anew; what was copied stays known.
//   - /metrics, logs, errors and Status, all of which others may see: names, numbers and
//     the hash of an id; never a text, a ciphertext, a key, a token, a PIN or the content
//     of a file. The endpoints listen on loopback only.
//
// What it does not do: it does not tell API servers apart, nor who of root's processes
// asks; it does not keep a log of its own of what was opened, which is for a Vault or a
// token to have; and of what was sealed it knows nothing, so it cannot say when an old
// version is not needed any more. No version is ever removed.
package kms
