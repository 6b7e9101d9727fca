package nodeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// copyFile, in the folder of a revision, has all that is in its Secret. It is of the
// same secrecy as the configuration beside it.
const copyFile = "revision.json"

func (a *Agent) copyOf(revision int64) string { return path.Join(a.folder(revision), copyFile) }

// copied encodes what is in the Secret of a revision.
func copied(cfg *corev1.Secret) ([]byte, error) {
	raw, err := json.Marshal(cfg.Data)
	if err != nil {
		return nil, fmt.Errorf("encode Secret %s/%s: %w", cfg.Namespace, cfg.Name, err)
	}
	return raw, nil
}

// readCopy returns what was in the Secret of a revision; nil if the node does not have
// it.
func (a *Agent) readCopy(ctx context.Context, revision int64) (map[string][]byte, error) {
	raw, err := a.read(ctx, a.copyOf(revision))
	if err != nil || raw == nil {
		return nil, err
	}
	var data map[string][]byte
	if err := json.Unmarshal(raw, &data); err != nil {
		return nil, fmt.Errorf("decode %s: it is not the JSON that it should be", a.copyOf(revision)) // err may show a key
	}
	return data, nil
}

// bringBack makes the Secret of the revision that the API server runs again, if somebody
// has deleted it: the node has a copy, and without the Secret nobody would know what
// API servers run.
func (a *Agent) bringBack(ctx context.Context, s *sight) error {
	revision, data, err := a.holds(ctx, s)
	if err != nil || revision == 0 || revision < s.policy.Status.MinSafeRevision {
		return err
	}
	name := client.ObjectKey{Namespace: a.cfg.ConfigNamespace, Name: config.RevisionName(revision)}
	err = a.cfg.Live.Get(ctx, name, &corev1.Secret{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("get Secret %s: %w", name, err)
	}
	again := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Immutable:  ptr.To(true), Type: corev1.SecretTypeOpaque, Data: data,
	}
	live := a.cfg.Live
	if s.fallsBack() {
		live = a.cfg.Local
	}
	if err := live.Create(ctx, again); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bring back Secret %s: %w", name, err)
	}
	a.cfg.Log.Info("Brought back the Secret of the revision that the API server runs, which somebody has deleted", "revision", revision)
	return nil
}

// holds returns the revision that the API server runs as far as its files say, and what
// is in it; zero if that is not known.
func (a *Agent) holds(ctx context.Context, s *sight) (int64, map[string][]byte, error) {
	if s.policy.Spec.Rollout.Mode != v1alpha1.AutomaticReload {
		if s.onDisk == 0 {
			return 0, nil, nil
		}
		data, err := a.readCopy(ctx, s.onDisk)
		if err != nil || data == nil {
			return 0, nil, err
		}
		return s.onDisk, data, nil
	}
	live, err := a.read(ctx, a.reloadFile())
	if err != nil || live == nil {
		return 0, nil, err
	}
	files, err := a.readIndex(ctx)
	if err != nil {
		return 0, nil, err
	}
	var numbers []int64
	for _, owner := range slices.Sorted(maps.Keys(files)) {
		if n, err := strconv.ParseInt(owner, 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range slices.Backward(numbers) {
		data, err := a.readCopy(ctx, n)
		if err != nil {
			return 0, nil, err
		}
		if data != nil && string(data[config.Configuration]) == string(live) {
			return n, data, nil
		}
	}
	return 0, nil, nil
}
