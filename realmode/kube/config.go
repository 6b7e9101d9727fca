package kube

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

// LoadConfig says how to reach the cluster that a kubeconfig file names; with an empty
// name, that of the Pod which this process is in. Errors are of usage.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, daemon.Usagef("this is no Pod, so set --kubeconfig: %w", err)
		}
		return cfg, nil
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, daemon.Usagef("--kubeconfig %s: %w", kubeconfig, err)
	}
	return cfg, nil
}
