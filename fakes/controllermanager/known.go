package controllermanager

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the controllers, as in the flag --controllers of
// kube-controller-manager.
const (
	GarbageCollector       = "garbage-collector-controller"
	Namespaces             = "namespace-controller"
	ServiceAccounts        = "serviceaccount-controller"
	RootCAPublisher        = "root-ca-certificate-publisher-controller"
	ResourceQuotas         = "resourcequota-controller"
	ClusterRoleAggregation = "clusterrole-aggregation-controller"
	ReplicaSets            = "replicaset-controller"
	Deployments            = "deployment-controller"
	EndpointSlices         = "endpointslice-controller"
	Endpoints              = "endpoints-controller"
	ClaimProtection        = "persistentvolumeclaim-protection-controller"
	VolumeProtection       = "persistentvolume-protection-controller"
)

// known is every controller that is modelled.
var known = []struct {
	name string
	doc  string
	make func(*Manager) controller
}{
	{GarbageCollector, "Deletes objects whose owners are gone, and carries out deletions in the foreground and by orphaning.", newCollector},
	{Namespaces, "Empties namespaces that are being deleted, says in their conditions what is left, and lets them go.", newNamespaces},
	{ServiceAccounts, "Keeps a ServiceAccount called default in every namespace.", newServiceAccounts},
	{RootCAPublisher, "Keeps a ConfigMap called kube-root-ca.crt in every namespace.", newRootCAPublisher},
	{ResourceQuotas, "Counts what is used of resource quotas.", newQuotas},
	{ClusterRoleAggregation, "Fills ClusterRoles that have an aggregationRule with the rules of others.", newAggregation},
	{ReplicaSets, "Keeps as many pods of each ReplicaSet as it asks for.", newReplicaSets},
	{Deployments, "Rolls Deployments out, by ReplicaSets of which each has one version of the template.", newDeployments},
	{EndpointSlices, "Keeps the EndpointSlices of Services that select pods.", newEndpointSlices},
	{Endpoints, "Keeps the Endpoints objects of Services that select pods.", newEndpoints},
	{ClaimProtection, "Lets PersistentVolumeClaims go only when no pod uses them.", newClaimProtection},
	{VolumeProtection, "Lets PersistentVolumes go only when no claim is bound to them.", newVolumeProtection},
}

// Doc says in a sentence what a controller does.
func Doc(name string) string {
	for _, k := range known {
		if k.name == name {
			return k.doc
		}
	}
	return ""
}

// Controllers returns the names of all controllers that are modelled.
func Controllers() []string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	return names
}

// Select returns the controllers that names mean, as in the flag --controllers: "*"
// is all of them, "name" one, and "-name" takes one out, wherever it stands. No name
// at all means all.
func Select(names []string) ([]string, error) {
	if len(names) == 0 {
		names = []string{"*"}
	}
	for _, name := range names {
		if name != "*" && !slices.Contains(Controllers(), strings.TrimPrefix(name, "-")) {
			return nil, fmt.Errorf("unknown controller %q; there are %s", name, strings.Join(Controllers(), ", "))
		}
	}
	return slices.DeleteFunc(Controllers(), func(name string) bool {
		return slices.Contains(names, "-"+name) || !slices.Contains(names, name) && !slices.Contains(names, "*")
	}), nil
}
