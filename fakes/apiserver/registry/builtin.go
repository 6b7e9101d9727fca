package registry

// Builtin returns the kinds that every cluster has and that are modelled here.
func Builtin() []*Kind {
	kinds := []*Kind{
		configMaps, secrets, namespaces, pods, podTemplates, services, serviceAccounts, endpoints, nodes, events,
		volumes, claims, resourceQuotas, limitRanges, replicationControllers,
		deployments, replicaSets, statefulSets, daemonSets, controllerRevisions,
		jobs, cronJobs,
		leases, endpointSlices,
		ingresses, ingressClasses, networkPolicies,
		budgets, autoscalers, priorityClasses,
		roles, clusterRoles, roleBindings, clusterRoleBindings,
		mutatingWebhooks, validatingWebhooks,
		storageClasses, volumeAttachments, csiNodes, csiDrivers, runtimeClasses,
		definitions,
		tokenReviews, selfSubjectReviews,
		subjectAccessReviews, localSubjectAccessReviews, selfSubjectAccessReviews, selfSubjectRulesReviews,
		bindings, componentStatuses,
		admissionPolicies, admissionPolicyBindings, signingRequests,
		resourceClaims, resourceClaimTemplates, deviceClasses, resourceSlices,
		storageCapacities, volumeAttributesClasses, storageMigrations,
	}
	kinds = append(kinds, refused()...)
	out := make([]*Kind, len(kinds))
	for i, k := range kinds { // every registry compiles its own
		c := *k
		c.Pure = true
		out[i] = &c
	}
	return out
}
