// Package indexedjob runs a program as an Indexed Job of a Kubernetes cluster, and
// gathers what each of its indexes has found.
//
//	job := indexedjob.Job{Namespace: "ci", Name: "explore", Image: "registry/seedbed:v1", Args: …, Indexes: 8}
//	err := job.Apply(ctx, c)                          // at any time again: nothing is started twice
//	status, err := job.Follow(ctx, c, time.Second, show)
//	results, err := job.Results(ctx, c)               // by index
//	err = job.Delete(ctx, c)
//
// Inside of each Pod the program calls [Publish] with what it has found:
//
//	driver ──Apply──▶ ServiceAccount, Role, RoleBinding, ConfigMap of files, Job
//	                                                                         │ one Pod an index
//	driver ◀─Results── ConfigMaps, one or more an index ◀──Publish────────────┘
//
// Results outlive Pods: one that is lost after it has published has lost nothing, and
// one that is lost before is made again by the Job. A program that is started again asks
// [Published] first. What is published is whole or not there, and checked by its digest.
//
// The package knows nothing of what the program does.
package indexedjob
