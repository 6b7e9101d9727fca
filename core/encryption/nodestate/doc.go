// Package nodestate reads and writes EncryptionNodeStates: what a node of the control
// plane reports of itself. Who writes has a field manager of its own, so the agent of
// a node and the one that probes its KMS plugins write beside each other.
package nodestate
