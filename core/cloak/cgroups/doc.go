// Package cgroups reads the paths of cgroups, as kubelets and container runtimes make them:
// which Pod and which container a cgroup is of.
//
// What counts is the cgroup of the container, the leaf. That of its Pod looks alike, and a
// grant to it would be to nobody: what runs is in the leaves.
package cgroups
