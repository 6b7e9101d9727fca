package controllermanager

// Names of the controllers, as in the flag --controllers of
// kube-controller-manager.
const (
	GarbageCollector       = "garbage-collector-controller"
	Namespaces             = "namespace-controller"
	ServiceAccounts        = "serviceaccount-controller"
	RootCAPublisher        = "root-ca-certificate-publisher-controller"
	ResourceQuotas         = "resourcequota-controller"
	ClusterRoleAggregation = "clusterrole-aggregation-controller"
)

// known is every controller that is modelled.
var known = []struct {
	name string
	make func(*Manager) controller
}{
	{GarbageCollector, newCollector},
	{Namespaces, newNamespaces},
	{ServiceAccounts, newServiceAccounts},
	{RootCAPublisher, newRootCAPublisher},
	{ResourceQuotas, newQuotas},
	{ClusterRoleAggregation, newAggregation},
}

// Controllers returns the names of all controllers that are modelled.
func Controllers() []string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	return names
}
