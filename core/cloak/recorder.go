package cloak

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// Recorder tells people what happened to an object. The EventRecorder of client-go's
// tools/record is one.
type Recorder interface {
	// Event records one event. The type is corev1.EventTypeNormal or
	// corev1.EventTypeWarning; nothing of a value may be in the message.
	Event(object runtime.Object, eventType, reason, message string)
}
