// Package binaries builds the programs of a real cluster from source and keeps
// them.
//
// What is built is pinned by the modules beside this package: pins/kubernetes
// (kube-apiserver, kubectl, kube-controller-manager and the rest), pins/etcd and
// pins/containerd. They are modules of their own, because the programs must get
// the dependencies that their authors tested, not ours; they hold no code, only
// a tool line for each program:
//
//	cd realmode/testenv/pins/etcd && go get -tool go.etcd.io/etcd/server/v3@v3.7.3
//
// The flow is
//
//	Build(programs) ──► all in the cache? ──► Set: the path of each
//	                        │ no                 ▲
//	                        ▼                    │ rename
//	                  lock the folder ──► go build in the pins module
//
// The cache is the folder seedbed/testenv of [os.UserCacheDir], or the one that
// the environment variable SEEDBED_TESTENV names. Each pins module has a folder
// in it whose name holds the version and a hash of everything the programs
// depend on: the module's go.mod and go.sum, the flags of the build, the release
// of Go and the platform. So another version is another folder, nothing is ever
// rebuilt in place, and a folder may be deleted at any time. A program appears
// under its name by rename, whole or not at all.
//
// Building needs the go command and either the network or a full module cache,
// and takes minutes; it happens once. The pins are found through the go command
// too, so the working directory must be in a checkout of seedbed.
package binaries
