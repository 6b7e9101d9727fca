package encryption

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/sim/disk"
)

// What people do by hand. Everything goes through an API server that answers, without
// latency; if that refuses, so be it.

var errNothing = errors.New("there is nothing of the kind")

// secretNamed reads a Secret of the system.
func (s *State) secretNamed(name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := s.operator.Get(background, client.ObjectKey{Namespace: Namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", name, err)
	}
	return secret, nil
}

// deleteSecret deletes a Secret, and takes off the finalizer that protects it.
func (s *State) deleteSecret(name string) error {
	secret, err := s.secretNamed(name)
	if err != nil {
		return err
	}
	if len(secret.Finalizers) > 0 {
		secret.Finalizers = nil
		if err := s.operator.Update(background, secret); err != nil {
			return fmt.Errorf("take the finalizer off Secret %s: %w", name, err)
		}
	}
	if err := s.operator.Delete(background, secret); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Secret %s: %w", name, err)
	}
	return nil
}

// editSecret changes a Secret of the system.
func (s *State) editSecret(name string, change func(*corev1.Secret)) error {
	secret, err := s.secretNamed(name)
	if err != nil {
		return err
	}
	change(secret)
	if err := s.operator.Update(background, secret); err != nil {
		return fmt.Errorf("update Secret %s: %w", name, err)
	}
	return nil
}

// keyAt is the name of the key Secret at a place: 0 is the newest. It is empty if there
// are fewer.
func (s *State) keyAt(place int) string {
	all := s.history.all()
	if place >= len(all) {
		return ""
	}
	return all[place].secret.Name
}

// corruptions are what people do to the Secret of a key.
var corruptions = map[string]func(*corev1.Secret){
	"timestamp": func(k *corev1.Secret) { annotate(k, keysecret.MigratedTimestamp, "yesterday") },
	"migrated":  func(k *corev1.Secret) { annotate(k, keysecret.MigratedResources, "secrets") },
	"mode":      func(k *corev1.Secret) { annotate(k, keysecret.Mode, "rot13") },
	"material":  func(k *corev1.Secret) { put(k, keysecret.Material, nil) },
	"reason":    func(k *corev1.Secret) { annotate(k, keysecret.ExternalReason, "edited") },
	"forgotten": func(k *corev1.Secret) {
		delete(k.Annotations, keysecret.MigratedResources)
		delete(k.Annotations, keysecret.MigratedTimestamp)
	},
}

func annotate(o client.Object, name, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	o.SetAnnotations(annotations)
}

// put writes an entry of a Secret, which somebody may have emptied before.
func put(s *corev1.Secret, entry string, value []byte) {
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[entry] = value
}

// managedEdits are what people do to the managed configuration.
var managedEdits = map[string]func(s *State, m *corev1.Secret){
	"garbage": func(_ *State, m *corev1.Secret) { put(m, config.Configuration, []byte("{")) },
	"emptied": func(_ *State, m *corev1.Secret) { m.Data = nil },
	"older": func(s *State, m *corev1.Secret) { // brings back what there was before
		for _, v := range slices.Backward(s.history.managed) {
			if v.secret != nil && string(v.secret.Data[config.Configuration]) != string(m.Data[config.Configuration]) && v.problem == nil && len(v.config) > 0 {
				m.Data = v.secret.DeepCopy().Data
				return
			}
		}
	},
	"first": func(s *State, m *corev1.Secret) { // brings back the first that there was
		for _, v := range s.history.managed {
			if v.secret != nil && v.problem == nil && len(v.config) > 0 {
				m.Data = v.secret.DeepCopy().Data
				return
			}
		}
	},
	"touched": func(_ *State, m *corev1.Secret) { annotate(m, "touched", "by hand") },
}

// editManaged changes the managed configuration.
func (s *State) editManaged(how string) error {
	return s.editSecret(managedName, func(m *corev1.Secret) { managedEdits[how](s, m) })
}

func harmLeaseDeleted(s hand) (string, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: leaseName}}
	return "deletes the Lease of the leader", s.operator.Delete(background, lease)
}

// restore brings the disk of a node back to where it was so many revisions ago, as
// from a backup, and restarts the node.
func (n *node) restore(ago int) (string, error) {
	if ago >= len(n.images) {
		return "", nil
	}
	before := n.images[len(n.images)-1-ago]
	n.node.Crash()
	d := n.node.Disk()
	for _, name := range slices.Sorted(maps.Keys(n.wrote)) {
		if err := bringTo(d, name, before.files[name]); err != nil {
			return "", fmt.Errorf("restore %s: %w", name, err)
		}
	}
	n.node.Start()
	return fmt.Sprintf("restores the disk of %s to revision %d", n.name, before.revision), nil
}

// bringTo makes data the content of a file, for good; nil removes it.
func bringTo(d *disk.Disk, name string, data []byte) error {
	if data == nil {
		if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return d.SyncDir(path.Dir(name))
	}
	return errors.Join(d.WriteFile(name, data), d.Sync(name), d.SyncDir(path.Dir(name)))
}
