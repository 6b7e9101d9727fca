// Package ownership is the controllers of kube-controller-manager as something that
// scenarios test: the garbage collector and the namespace controller, in a cluster in
// which somebody makes objects that own each other and deletes them in every way.
//
// The system is that somebody, the gardener: a process that plants ConfigMaps (and,
// in a mixed garden, Secrets) with owners, holds some by finalizers, deletes some in
// the background, in the foreground or as orphans, and makes and deletes whole
// namespaces. The controllers are not its own: a scenario switches them on with
// controllers under cluster.
//
// What must hold (properties.go) is judged from outside, by an admission hook that
// sees every deletion before it takes effect and by a watch that never lags
// (history.go).
package ownership
