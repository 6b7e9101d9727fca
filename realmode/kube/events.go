package kube

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
)

// Events records Events about objects, in the namespace of each; those about objects
// without one are in the namespace default. Of many that are alike few are recorded.
type Events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// Events returns a recorder for a component, to be closed when it is done.
func (c *Cluster) Events(component string) (*Events, error) {
	cfg := rest.CopyConfig(c.cfg)
	cfg.QPS, cfg.Burst = 5, 25 // of their own: they wait, and nothing waits for them
	api, err := kubernetes.NewForConfigAndClient(cfg, c.http)
	if err != nil {
		return nil, fmt.Errorf("make a client for events: %w", err)
	}
	e := &Events{broadcaster: record.NewBroadcaster()}
	e.broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: api.CoreV1().Events("")})
	e.recorder = e.broadcaster.NewRecorder(scheme, corev1.EventSource{Component: component})
	return e, nil
}

// Event records an event; it waits for nothing.
func (e *Events) Event(object runtime.Object, eventType, reason, message string) {
	e.recorder.Event(object, eventType, reason, message)
}

// Close ends the recording. Events that were not sent yet are lost.
func (e *Events) Close() { e.broadcaster.Shutdown() }

// EventPermissions are the rules that recording needs, where the objects are.
func EventPermissions() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}}
}
