package encryption

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// snapshot is the configuration of a KMS plugin with the data that it refers to,
// each read once. A key is made of the very snapshot that was tried.
type snapshot struct {
	data *state.KMSData

	// hash tells one snapshot from another. It can be shown: without the salt
	// nothing can be learned from it about what is in it.
	hash string
}

// saltEntry is the entry of the Secret that has the salt of hashes.
const saltEntry = "salt"

var (
	errNoKMS         = errors.New("spec.kms is missing")
	errMissingData   = errors.New("it lacks data that the KMS plugin needs")
	errSaltMalformed = errors.New("it lacks the entry " + saltEntry + "; delete it, and it is made anew")
)

// snapshot reads what a key of mode KMS would be made of now.
func (c *Component) snapshot(ctx context.Context, policy *v1alpha1.EncryptionPolicy) (*snapshot, error) {
	kms := policy.Spec.KMS
	if kms == nil {
		return nil, fmt.Errorf("read the KMS plugin of EncryptionPolicy %s: %w", policy.Name, errNoKMS)
	}
	plugin, err := json.Marshal(kms)
	if err != nil {
		return nil, fmt.Errorf("encode the KMS plugin: %w", err)
	}
	provider, err := config.KMSProvider(apiserverv1.KMSConfiguration{APIVersion: "v2", Timeout: kms.Timeout})
	if err != nil {
		return nil, err
	}
	s := &snapshot{data: &state.KMSData{Provider: provider, Plugin: string(plugin)}}
	salt, err := c.salt(ctx)
	if err != nil {
		return nil, err
	}
	sum := hasher{hmac.New(sha256.New, salt)}
	sum.add("plugin", plugin)
	if err := c.addSecret(ctx, s.data, kms.References.Secret, sum); err != nil {
		return nil, err
	}
	if err := c.addConfigMap(ctx, s.data, kms.References.ConfigMap, sum); err != nil {
		return nil, err
	}
	s.hash = base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
	return s, nil
}

// hasher adds parts with their lengths, so that nothing can move from one to the
// next.
type hasher struct{ hash.Hash }

func (h hasher) add(tag string, value []byte) {
	for _, part := range [][]byte{[]byte(tag), value} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
}

func (c *Component) addSecret(ctx context.Context, data *state.KMSData, ref *v1alpha1.ObjectReference, sum hasher) error {
	if ref == nil {
		return nil
	}
	s := &corev1.Secret{}
	name := client.ObjectKey{Namespace: c.References, Name: ref.Name}
	if err := c.Live.Get(ctx, name, s); err != nil {
		return fmt.Errorf("get Secret %s, which the KMS plugin refers to: %w", name, err)
	}
	data.Secrets = map[state.Reference]secret.Bytes{}
	sum.add("secret", []byte(ref.Name))
	for _, entry := range slices.Sorted(slices.Values(ref.Keys)) {
		value, ok := s.Data[entry]
		if !ok || len(value) == 0 {
			return fmt.Errorf("read entry %s of Secret %s: %w", entry, name, errMissingData)
		}
		sum.add(entry, value)
		data.Secrets[state.Reference{Object: ref.Name, Entry: entry}] = secret.New(value)
	}
	return nil
}

func (c *Component) addConfigMap(ctx context.Context, data *state.KMSData, ref *v1alpha1.ObjectReference, sum hasher) error {
	if ref == nil {
		return nil
	}
	m := &corev1.ConfigMap{}
	name := client.ObjectKey{Namespace: c.References, Name: ref.Name}
	if err := c.Live.Get(ctx, name, m); err != nil {
		return fmt.Errorf("get ConfigMap %s, which the KMS plugin refers to: %w", name, err)
	}
	data.ConfigMaps = map[state.Reference]string{}
	sum.add("configmap", []byte(ref.Name))
	for _, entry := range slices.Sorted(slices.Values(ref.Keys)) {
		value, ok := m.Data[entry]
		if !ok || value == "" {
			return fmt.Errorf("read entry %s of ConfigMap %s: %w", entry, name, errMissingData)
		}
		sum.add(entry, []byte(value))
		data.ConfigMaps[state.Reference{Object: ref.Name, Entry: entry}] = value
	}
	return nil
}

// salt returns the salt of hashes, which is made when it is first needed.
func (c *Component) salt(ctx context.Context) ([]byte, error) {
	name := client.ObjectKey{Namespace: c.Namespace, Name: "encryption-hash-salt-" + c.Name}
	for {
		s := &corev1.Secret{}
		err := c.Live.Get(ctx, name, s)
		switch {
		case err == nil && len(s.Data[saltEntry]) == 0:
			return nil, fmt.Errorf("read Secret %s: %w", name, errSaltMalformed)
		case err == nil:
			return s.Data[saltEntry], nil
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("get Secret %s: %w", name, err)
		}
		salt := make([]byte, sha256.Size)
		if _, err := io.ReadFull(c.Entropy, salt); err != nil {
			return nil, fmt.Errorf("read entropy for the salt of hashes: %w", err)
		}
		s = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Data: map[string][]byte{saltEntry: salt}}
		err = c.Live.Create(ctx, s)
		if apierrors.IsAlreadyExists(err) {
			continue // of another leader, or of Key and KMSPreflight at once
		}
		if err != nil {
			return nil, fmt.Errorf("create Secret %s: %w", name, err)
		}
		return salt, nil
	}
}

// identity returns the identity of the KMS key that a key was made for.
func identity(k *state.Key) (v1alpha1.KMSIdentity, error) {
	if k.KMS == nil {
		return v1alpha1.KMSIdentity{}, fmt.Errorf("read the KMS plugin of key %d: %w", k.ID, errNoKMS)
	}
	var kms v1alpha1.KMS
	if err := json.Unmarshal([]byte(k.KMS.Plugin), &kms); err != nil {
		return v1alpha1.KMSIdentity{}, fmt.Errorf("decode the KMS plugin of key %d: %w", k.ID, err)
	}
	return kms.Identity, nil
}
