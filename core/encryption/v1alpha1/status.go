package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of the conditions of an EncryptionPolicy. Each has one controller that
// writes it.
const (
	// Encrypted is True if nothing of what should be encrypted is stored as it is.
	Encrypted = "Encrypted"

	// KeysGivenUp is True if there are keys in givenUpKeys, and says which and why.
	KeysGivenUp = "EncryptionKeysGivenUp"

	// ObjectsLost is True if there are objects that no API server can read as the KMS
	// plugin of a key that was given up is dead. It names them.
	ObjectsLost = "EncryptionObjectsLost"

	// KMSPreflightRequired has the hash of the plugin's configuration that a key is
	// wanted for, in its message.
	KMSPreflightRequired = "EncryptionKMSPreflightRequired"

	// KMSPreflightSucceeded has the hash of the configuration that was tried, in its
	// message.
	KMSPreflightSucceeded = "EncryptionKMSPreflightSucceeded"

	KeyDegraded            = "EncryptionKeyControllerDegraded"
	StateDegraded          = "EncryptionStateControllerDegraded"
	MigrationDegraded      = "EncryptionMigrationControllerDegraded"
	MigrationProgressing   = "EncryptionMigrationControllerProgressing"
	PruneDegraded          = "EncryptionPruneControllerDegraded"
	ConditionDegraded      = "EncryptionConditionControllerDegraded"
	KMSPreflightDegraded   = "EncryptionKMSPreflightControllerDegraded"
	RolloutDegraded        = "EncryptionRolloutControllerDegraded"
	KEKDegraded            = "EncryptionKEKControllerDegraded"
	KMSPreflightInProgress = "EncryptionKMSPreflightControllerProgressing"
)

// EncryptionPolicyStatus is how far the controllers have come.
//
// +kubebuilder:validation:XValidation:rule="(has(self.highestKeyID) || !has(oldSelf.highestKeyID)) && (has(self.minSafeRevision) || !has(oldSelf.minSafeRevision))",message="highestKeyID and minSafeRevision stay; do not remove them"
type EncryptionPolicyStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// HighestKeyID is the highest id that a key ever had. It never falls, so that
	// no id is used twice, whatever is deleted.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="ids of keys are not used again; do not lower this"
	// +optional
	HighestKeyID int64 `json:"highestKeyID,omitempty"`

	// LatestRevision is the last configuration that was cut for rollout.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	LatestRevision int64 `json:"latestRevision,omitempty"`

	// MinSafeRevision is the first configuration that can read all that is stored.
	// Nodes refuse older ones.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="keys that were dropped do not come back; do not lower this"
	// +optional
	MinSafeRevision int64 `json:"minSafeRevision,omitempty"`

	// GivenUpKeys are the ids of keys whose KMS plugin has been dead for so long that
	// nobody waits for it any more, while the policy wants another key. API servers are
	// ready without such a plugin, nothing is written with the key, and it is dropped
	// when everything has been rewritten with a later one.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	GivenUpKeys []int64 `json:"givenUpKeys,omitempty"`

	// Fallback says how the revision that it names is made, where no Secret could be
	// written that has it.
	//
	// +optional
	Fallback *Fallback `json:"fallback,omitempty"`

	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Instances are the API servers.
	//
	// +listType=map
	// +listMapKey=name
	// +optional
	Instances []Instance `json:"instances,omitempty"`
}

// Fallback is a revision that nodes make by themselves of the one before: what was written
// with keys that are given up is written with the key before. For where Secrets cannot be
// encrypted, none can be written, and that is how other revisions reach nodes.
type Fallback struct {
	// Revision is its number, Of that of the one that it is made of.
	Revision int64 `json:"revision"`
	Of       int64 `json:"of"`

	// WithoutKeys are the ids of the keys that are given up.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	WithoutKeys []int64 `json:"withoutKeys"`
}

// Instance is what is known of one API server.
type Instance struct {
	Name string `json:"name"`
	Node string `json:"node"`

	// +optional
	Revision int64 `json:"revision,omitempty"`

	// ConfigHash is the hash of the configuration that it runs.
	//
	// +optional
	ConfigHash string `json:"configHash,omitempty"`

	// KEKIDs are the ids that the plugins of KMS keys give for the keys that they
	// keep, by the ids of ours.
	//
	// +optional
	KEKIDs map[string]string `json:"kekIDs,omitempty"`

	// +optional
	ObservedAt *metav1.Time `json:"observedAt,omitempty"`
}
