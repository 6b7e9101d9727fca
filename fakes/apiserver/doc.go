// Package apiserver is a fake Kubernetes API server that answers as a real one.
package apiserver
