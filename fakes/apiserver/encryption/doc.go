// Package encryption is what a kube-apiserver does with an EncryptionConfiguration: it
// seals what goes to etcd and opens what comes from there.
//
//	configuration.go  the file, and what is refused of it
//	transformers.go   the providers of each resource
//	transformer.go    the order in which they are tried, and what is stale
//	keyed.go          aescbc, aesgcm and secretbox, with their keys
//	value.go          a stored value, and who has sealed it
//	loader.go         the process: loading at start
//	reload.go         loading anew when the file has changed
//
// A [Loader] is a process of an API server: it reads the file once, or the process does
// not come up, and with automatic reload again and again. What it has loaded are
// [Transformers], of which each resource has a [Transformer].
//
// The stored bytes are those of a real server; k8s.io/apiserver can read them, and the
// other way round. Nonces and seeds are read from a reader that is handed in. All
// providers but KMS v1, which has been off since Kubernetes 1.29, are here.
//
// Nothing here waits: see package envelope, which has the KMS providers.
package encryption
