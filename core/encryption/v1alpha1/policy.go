package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicyName is the name of the only EncryptionPolicy of a cluster.
const PolicyName = "cluster"

// EncryptionPolicy says how the objects of a cluster are encrypted in etcd.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=encryptionpolicies,singular=encryptionpolicy
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Encrypted",type=string,JSONPath=`.status.conditions[?(@.type=="Encrypted")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Encrypted")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster'",message="there is one policy, and its name is cluster; edit that one"
type EncryptionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec EncryptionPolicySpec `json:"spec"`

	// +optional
	Status EncryptionPolicyStatus `json:"status,omitempty"`
}

// EncryptionPolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type EncryptionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EncryptionPolicy `json:"items"`
}

// ManagementState says whether the controllers do anything.
//
// +kubebuilder:validation:Enum=Managed;Unmanaged;Removed
type ManagementState string

// States of management.
const (
	Managed   ManagementState = "Managed"
	Unmanaged ManagementState = "Unmanaged"
	Removed   ManagementState = "Removed"
)

// EncryptionType is how new keys encrypt.
//
// +kubebuilder:validation:Enum="";identity;aescbc;aesgcm;KMS
type EncryptionType string

// Types of encryption. The empty one is identity in a cluster that was never
// encrypted, and asks for nothing.
const (
	TypeUnset    EncryptionType = ""
	TypeIdentity EncryptionType = "identity"
	TypeAESCBC   EncryptionType = "aescbc"
	TypeAESGCM   EncryptionType = "aesgcm"
	TypeKMS      EncryptionType = "KMS"
)

// EncryptionPolicySpec is what an administrator asks for.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'KMS' || has(self.kms)",message="type KMS needs to know its plugin; write spec.kms"
// +kubebuilder:validation:XValidation:rule="self.type == 'KMS' || !has(self.kms)",message="spec.kms is for type KMS only; remove it, or set spec.type to KMS"
type EncryptionPolicySpec struct {
	// ManagementState is Managed if the controllers are to do what the policy says.
	// In any other state they leave everything as it is.
	//
	// +kubebuilder:default=Managed
	// +optional
	ManagementState ManagementState `json:"managementState,omitempty"`

	// Type is how objects are to be encrypted. To change it makes a new key, and
	// rewrites every object.
	//
	// +kubebuilder:default=""
	// +optional
	Type EncryptionType `json:"type"`

	// Resources are what is encrypted.
	//
	// +kubebuilder:default={{group: "", resource: "secrets"}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	// +optional
	Resources []Resource `json:"resources,omitempty"`

	// +kubebuilder:default={}
	// +optional
	Rotation Rotation `json:"rotation,omitempty"`

	// KMS describes the plugin of type KMS.
	//
	// +optional
	KMS *KMS `json:"kms,omitempty"`

	// +kubebuilder:default={}
	// +optional
	Rollout Rollout `json:"rollout,omitempty"`
}

// Resource is a resource in the sense of the API.
type Resource struct {
	// Group is empty for the core group.
	//
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="not the name of an API group; write it in small letters, such as example.com, and nothing for the core group"
	// +optional
	Group string `json:"group"`

	// Resource is the plural, in small letters.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="not the name of a resource; write its plural in small letters, such as secrets, without wildcards, versions or subresources"
	Resource string `json:"resource"`
}

// Rotation says when a new key is made though nothing else asks for it. Keys of KMS
// plugins are rotated by whoever keeps them.
type Rotation struct {
	// Reason makes a new key whenever it changes to another text.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Reason string `json:"reason,omitempty"`

	// Interval is how long a key writes. It begins when everything has been
	// rewritten with the key.
	//
	// +kubebuilder:default="168h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="too short: a rotation rewrites everything; write one hour (1h) or more"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// KMS describes a KMS plugin.
type KMS struct {
	// Identity is what makes the key another one.
	Identity KMSIdentity `json:"identity"`

	// Plugin is how the plugin is run.
	Plugin KMSPlugin `json:"plugin"`

	// +optional
	References KMSReferences `json:"references,omitempty"`

	// Timeout of a call to the plugin.
	//
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1m')",message="not between 0s and 1m; write how long an API server may wait for the plugin, such as 10s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// KMSIdentity tells one key of a key management service from another. A change
// makes a new key in the cluster, and rewrites every object.
type KMSIdentity struct {
	// Endpoint is the address of the service.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Endpoint string `json:"endpoint"`

	// KeyPath names the key there.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	KeyPath string `json:"keyPath"`

	// Namespace of the key, where the service has such.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// KMSPlugin is how a plugin is run. A change is made in place, and makes no new key.
type KMSPlugin struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.contains(' ')",message="not the name of an image; write it as registry/name:tag or registry/name@digest"
	Image string `json:"image"`

	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`

	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []EnvVar `json:"env,omitempty"`
}

// EnvVar is a variable of the environment. It is no place for secrets: refer to
// those.
type EnvVar struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('=')",message="not a name; write it without the equals sign, and what follows that as value"
	Name string `json:"name"`

	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Value string `json:"value,omitempty"`
}

// KMSReferences are objects in the namespace of references whose data the plugin is
// given.
type KMSReferences struct {
	// Secret holds what the plugin shows the service to be let in.
	//
	// +optional
	Secret *ObjectReference `json:"secret,omitempty"`

	// +optional
	ConfigMap *ObjectReference `json:"configMap,omitempty"`
}

// ObjectReference names an object, and the entries of its data that count.
type ObjectReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="not the name of an object; write it in small letters, digits, dashes and dots"
	Name string `json:"name"`

	// Keys are the entries. All of them must be there; others do not count.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Keys []string `json:"keys"`
}

// RolloutMode is how a new configuration reaches the API servers.
//
// +kubebuilder:validation:Enum=StaticPodRevision;AutomaticReload
type RolloutMode string

// Modes of rollout.
const (
	// StaticPodRevision restarts one API server after the other, each with files of
	// its own for the revision.
	StaticPodRevision RolloutMode = "StaticPodRevision"

	// AutomaticReload replaces the one file, which API servers load by themselves.
	AutomaticReload RolloutMode = "AutomaticReload"
)

// Rollout is how new configurations reach the API servers.
type Rollout struct {
	// +kubebuilder:default=StaticPodRevision
	// +optional
	Mode RolloutMode `json:"mode,omitempty"`
}
