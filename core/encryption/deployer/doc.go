// Package deployer finds out what API servers run: [StaticPods] by the Pods that
// kubelets run from files, [Union] of several components whose objects are in one
// etcd. Both are encryption.Deployer.
//
// A deployer that is wrong in saying that all run the same loses data; one that is
// wrong in saying that they do not only waits. So all that is not understood is a
// difference, or an error.
package deployer
