package encryption

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

const (
	agentPeriod   = 10 * time.Second // between two looks of an agent
	minReadyLooks = 2                // at an API server that is ready before the next is restarted
	configDir     = "/etc/kubernetes/seedbed/encryption"
)

// runAgent is the main function of the process that brings revisions to a node.
func (n *node) runAgent(ctx context.Context, env *cluster.Env) {
	n.sawReady = map[string]int{}
	for {
		if err := n.bring(ctx, env); err != nil {
			env.Log.V(1).Info("The node is not brought up to date", "why", err.Error())
		}
		if env.Clock.Sleep(ctx, agentPeriod) != nil {
			return
		}
	}
}

var errUnsafe = errors.New("the revision is older than the first that is safe")

// bring brings the latest revision to the node if it is the node's turn.
func (n *node) bring(ctx context.Context, env *cluster.Env) error {
	policy := &v1alpha1.EncryptionPolicy{}
	if err := env.Kube.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyName}, policy); err != nil {
		return fmt.Errorf("get the policy: %w", err)
	}
	latest := policy.Status.LatestRevision
	files := env.Disk()
	have, err := readManifest(ctx, files)
	if err != nil {
		return err
	}
	if err := n.bringBack(ctx, env, have, policy.Status.MinSafeRevision); err != nil {
		return err
	}
	if have.Revision >= latest {
		return nil
	}
	if latest < policy.Status.MinSafeRevision {
		return fmt.Errorf("revision %d: %w", latest, errUnsafe)
	}
	if turn, err := n.turn(ctx, env, latest); err != nil || !turn {
		return err
	}
	s := &corev1.Secret{}
	name := client.ObjectKey{Namespace: Namespace, Name: config.RevisionName(latest)}
	if err := env.Kube.Get(ctx, name, s); err != nil {
		return fmt.Errorf("get Secret %s: %w", name, err)
	}
	file := fmt.Sprintf("%s/rev-%d/config.json", configDir, latest)
	if err := replace(ctx, env, file, s.Data[config.Configuration]); err != nil {
		return err
	}
	plugins, err := pluginsOf(s)
	if err != nil {
		return err
	}
	all, err := json.Marshal(s.Data)
	if err != nil {
		return fmt.Errorf("encode the data of Secret %s: %w", name, err)
	}
	if err := replace(ctx, env, dataFile(latest), all); err != nil {
		return err
	}
	raw, err := json.Marshal(manifest{Revision: latest, Config: file, Plugins: plugins})
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	if err := replace(ctx, env, manifestPath, raw); err != nil {
		return err
	}
	env.Event("roll out", n.name, uint64(latest), fmt.Sprintf("gives its API server revision %d", latest))
	n.state.learnRaw(s.Data[config.Configuration])
	n.images = append(n.images, map[string][]byte{file: s.Data[config.Configuration], dataFile(latest): all, manifestPath: raw, "revision": []byte(fmt.Sprint(latest))})
	n.wake()
	return nil
}

// dataFile is where a node keeps all that is in the Secret of a revision.
func dataFile(revision int64) string { return fmt.Sprintf("%s/rev-%d/data.json", configDir, revision) }

// bringBack makes the Secret of the revision that the node runs again, if somebody has
// deleted it: the copy on the node is as good.
func (n *node) bringBack(ctx context.Context, env *cluster.Env, have manifest, safe int64) error {
	if have.Revision == 0 || have.Revision < safe {
		return nil
	}
	s := &corev1.Secret{}
	s.Namespace, s.Name = Namespace, config.RevisionName(have.Revision)
	err := env.Kube.Get(ctx, client.ObjectKeyFromObject(s), s)
	if !apierrors.IsNotFound(err) {
		return err
	}
	raw, err := env.Disk().ReadFile(ctx, dataFile(have.Revision))
	if err != nil {
		return fmt.Errorf("read the data of revision %d: %w", have.Revision, err)
	}
	if err := json.Unmarshal(raw, &s.Data); err != nil {
		return fmt.Errorf("decode the data of revision %d", have.Revision) // the cause may show a key
	}
	s.Immutable = ptr.To(true)
	if err := env.Kube.Create(ctx, s); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bring back Secret %s: %w", s.Name, err)
	}
	return nil
}

// turn reports whether the node is next: one API server after the other, and the
// next only when the one before has been ready for a while.
func (n *node) turn(ctx context.Context, env *cluster.Env, latest int64) (bool, error) {
	for _, other := range n.state.nodes {
		if other == n {
			return true, nil
		}
		pod := &corev1.Pod{}
		err := env.Kube.Get(ctx, client.ObjectKey{Namespace: serverNamespace, Name: other.podName()}, pod)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("get the Pod of the API server on %s: %w", other.name, err)
		}
		ready := false
		for _, c := range pod.Status.Conditions {
			ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		if !ready {
			delete(n.sawReady, other.name)
			return false, nil
		}
		// Counted in looks: clocks of machines differ.
		if n.sawReady[other.name]++; n.sawReady[other.name] < minReadyLooks || pod.DeletionTimestamp != nil || pod.Labels[deployer.RevisionLabel] != fmt.Sprint(latest) {
			return false, nil
		}
	}
	return true, nil
}

// wake lets the kubelet notice that the manifest has changed.
func (n *node) wake() {
	if n.changed != nil {
		n.changed.Send()
	}
}

// replace replaces a file so that a crash leaves the old or the new one whole.
func replace(ctx context.Context, env *cluster.Env, name string, data []byte) error {
	files, temp := env.Disk(), name+".new"
	if old, err := files.ReadFile(ctx, name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	for _, do := range []func() error{
		func() error { return files.WriteFile(ctx, temp, data) },
		func() error { return files.Sync(ctx, temp) },
		func() error { return files.Rename(ctx, temp, name) },
		func() error { return files.SyncDir(ctx, path.Dir(name)) },
	} {
		if err := do(); err != nil {
			return fmt.Errorf("replace %s: %w", name, err)
		}
	}
	return nil
}
