package kube

import (
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Quieten lets the libraries under this package log what went wrong, and what they are
// about only to who wants to know all. It is for main functions: loggers of libraries are
// those of the process.
func Quieten(log logr.Logger) {
	ctrllog.SetLogger(log.V(1))
	klog.SetLogger(log.V(1))
}
