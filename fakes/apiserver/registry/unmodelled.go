package registry

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refused are the kinds that a real server serves and this one does not.
func refused() []*Kind {
	var out []*Kind
	add := func(cluster bool, gv schema.GroupVersion, kind, plural string) {
		out = append(out, &Kind{GroupVersionKind: gv.WithKind(kind), Names: Names{Plural: plural}, Cluster: cluster, Refused: true})
	}
	const cluster, namespaced = true, false
	add(cluster, schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}, "APIService", "apiservices")
	add(cluster, admissionv1.SchemeGroupVersion, "MutatingAdmissionPolicy", "mutatingadmissionpolicies")
	add(cluster, admissionv1.SchemeGroupVersion, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings")
	add(cluster, certificatesv1.SchemeGroupVersion, "ClusterTrustBundle", "clustertrustbundles")
	add(namespaced, certificatesv1.SchemeGroupVersion, "PodCertificateRequest", "podcertificaterequests")
	add(cluster, flowcontrolv1.SchemeGroupVersion, "FlowSchema", "flowschemas")
	add(cluster, flowcontrolv1.SchemeGroupVersion, "PriorityLevelConfiguration", "prioritylevelconfigurations")
	add(cluster, networkingv1.SchemeGroupVersion, "IPAddress", "ipaddresses")
	add(cluster, networkingv1.SchemeGroupVersion, "ServiceCIDR", "servicecidrs")
	add(cluster, resourcev1.SchemeGroupVersion, "DeviceTaintRule", "devicetaintrules")
	return out
}
