package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the API.
var GroupVersion = schema.GroupVersion{Group: "encryption.seedbed.dev", Version: "v1alpha1"}

// AddToScheme adds the types of the API to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &EncryptionPolicy{}, &EncryptionPolicyList{}, &EncryptionNodeState{}, &EncryptionNodeStateList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
