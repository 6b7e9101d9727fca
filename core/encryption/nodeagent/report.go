package nodeagent

import (
	"context"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/nodestate"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

const (
	// Manager is the field manager of what agents report.
	Manager = "encryption-node-agent"

	// Heartbeat is the longest time between two reports.
	Heartbeat = 5 * time.Minute

	configFile = "config.json"
)

// report says what the node runs, if that has changed or was said long ago.
func (a *Agent) report(ctx context.Context, s *sight) error {
	now := metav1.NewTime(a.cfg.Clock.Now()).Rfc3339Copy()
	want := v1alpha1.EncryptionNodeStatus{Heartbeat: &now}
	want.RunningRevision, _ = s.running()
	file := path.Join(a.folder(s.onDisk), configFile)
	if s.policy.Spec.Rollout.Mode == v1alpha1.AutomaticReload {
		file = a.reloadFile()
	}
	raw, err := a.read(ctx, file)
	if err != nil {
		return err
	}
	if raw != nil {
		want.FileHash = config.FileHash(raw)
	}
	if a.cfg.Loaded != nil {
		if want.LoadedHash, err = a.cfg.Loaded(ctx); err != nil {
			a.cfg.Log.V(1).Info("The API server does not say what it has loaded", "reason", err.Error())
		}
	}
	want.Server = process(s.pod, a.cfg.Container)

	there := &v1alpha1.EncryptionNodeState{}
	err = a.cfg.Live.Get(ctx, client.ObjectKey{Name: a.cfg.Node}, there)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get EncryptionNodeState %s: %w", a.cfg.Node, err)
	}
	if err == nil && same(&there.Status, &want) {
		if age := now.Sub(there.Status.Heartbeat.Time); age >= 0 && age < Heartbeat { // the clock may have been set back
			return nil
		}
	}
	form, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want)
	if err != nil {
		return fmt.Errorf("encode what node %s reports: %w", a.cfg.Node, err)
	}
	return nodestate.Apply(ctx, a.cfg.Live, a.cfg.Node, Manager, form)
}

// same reports whether two reports differ in their time alone.
func same(a, b *v1alpha1.EncryptionNodeStatus) bool {
	return a.Heartbeat != nil && a.RunningRevision == b.RunningRevision && a.FileHash == b.FileHash && a.LoadedHash == b.LoadedHash &&
		a.Server.ContainerID == b.Server.ContainerID && a.Server.StartTime.Equal(b.Server.StartTime)
}

// process tells which process the API server is.
func process(pod *corev1.Pod, container string) v1alpha1.ServerProcess {
	var p v1alpha1.ServerProcess
	if pod == nil {
		return p
	}
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		if c.Name != container {
			continue
		}
		p.ContainerID = c.ContainerID
		if c.State.Running != nil {
			started := c.State.Running.StartedAt.Rfc3339Copy()
			p.StartTime = &started
		}
	}
	return p
}
