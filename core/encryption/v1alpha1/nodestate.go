package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EncryptionNodeState is what one node of the control plane runs. It has the name of
// the node, and only the agent on that node writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=encryptionnodestates,singular=encryptionnodestate
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.runningRevision`
// +kubebuilder:printcolumn:name="Heartbeat",type=date,JSONPath=`.status.heartbeat`
type EncryptionNodeState struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status EncryptionNodeStatus `json:"status,omitempty"`
}

// EncryptionNodeStateList is a list of what nodes run.
//
// +kubebuilder:object:root=true
type EncryptionNodeStateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EncryptionNodeState `json:"items"`
}

// EncryptionNodeStatus is what a node's agent has seen.
type EncryptionNodeStatus struct {
	// RunningRevision is that of the API server's static Pod.
	//
	// +optional
	RunningRevision int64 `json:"runningRevision,omitempty"`

	// FileHash is the hash of the configuration on disk, LoadedHash that of the one
	// that the API server says it has loaded.
	//
	// +optional
	FileHash string `json:"fileHash,omitempty"`
	// +optional
	LoadedHash string `json:"loadedHash,omitempty"`

	// Server is the process.
	//
	// +optional
	Server ServerProcess `json:"server,omitzero"`

	// Plugins are the KMS plugins, by the ids of our keys.
	//
	// +listType=map
	// +listMapKey=keyID
	// +optional
	Plugins []PluginHealth `json:"plugins,omitempty"`

	// Heartbeat is when the agent last looked.
	//
	// +optional
	Heartbeat *metav1.Time `json:"heartbeat,omitempty"`
}

// ServerProcess tells one process of an API server from the next.
type ServerProcess struct {
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// +optional
	PID int32 `json:"pid,omitempty"`
	// +optional
	ContainerID string `json:"containerID,omitempty"`
}

// PluginStatus says how a plugin answers.
//
// +kubebuilder:validation:Enum=Healthy;Unhealthy;Error
type PluginStatus string

// How plugins answer.
const (
	PluginHealthy   PluginStatus = "Healthy"
	PluginUnhealthy PluginStatus = "Unhealthy" // it says so
	PluginError     PluginStatus = "Error"     // it does not answer as it should
)

// PluginHealth is how the plugin of a KMS key answers on a node.
type PluginHealth struct {
	KeyID string `json:"keyID"`

	Status PluginStatus `json:"status"`

	// KEKID is what the plugin calls the key that it keeps.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	KEKID string `json:"kekID,omitempty"`

	// Message is what is wrong.
	//
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Message string `json:"message,omitempty"`

	LastChecked metav1.Time `json:"lastChecked"`
}
