package keysecret

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// Domain is in the names of all labels, annotations, finalizers and entries.
const Domain = "encryption.seedbed.dev"

// Names in the metadata of a key's Secret.
const (
	// Component is the label by which the Secrets of a component are found. Their
	// names do not matter.
	Component = Domain + "/component"

	// Finalizer protects the Secret from being deleted by accident.
	Finalizer = Domain + "/deletion-protection"

	Description       = "kubernetes.io/description"
	Mode              = Domain + "/mode"
	InternalReason    = Domain + "/internal-reason"
	ExternalReason    = Domain + "/external-reason"
	MigratedTimestamp = Domain + "/migrated-timestamp" // RFC 3339
	MigratedResources = Domain + "/migrated-resources" // JSON

	// DecryptedResources are those written as they are while this was the newest key.
	DecryptedResources = Domain + "/decrypted-resources" // JSON

	// How far objects have come with the keys that a KMS plugin keeps.
	ConvergedID         = Domain + "/converged-id"
	ConvergedSince      = Domain + "/converged-since" // RFC 3339
	TargetRemoteKeyID   = Domain + "/target-remote-key-id"
	MigratedRemoteKeyID = Domain + "/migrated-remote-key-id"

	// PluginVersion counts the changes in place of a KMS plugin.
	PluginVersion = Domain + "/kms-plugin-version"
)

// Entries of the data.
const (
	Material     = Domain + "-key"
	KMSProvider  = Domain + "-kms-encryption-config"
	KMSPlugin    = Domain + "-kms-plugin-config"
	KMSSecret    = Domain + "-kms-plugin-secret-"    // and a reference
	KMSConfigMap = Domain + "-kms-plugin-configmap-" // and a reference
)

const warning = "WARNING: DO NOT EDIT. Altering this Secret makes the data unreadable that is encrypted with its key."

// Name is the name of the Secret of a key.
func Name(component string, id uint64) string {
	return fmt.Sprintf("encryption-key-%s-%d", component, id)
}

// Encode returns k as a Secret in a namespace.
func Encode(k state.Key, component, namespace string) (*corev1.Secret, error) {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: Name(component, k.ID),
			Labels:      map[string]string{Component: component},
			Finalizers:  []string{Finalizer},
			Annotations: map[string]string{Description: warning, Mode: string(k.Mode)},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{Material: k.Material.Reveal()},
	}
	for name, text := range map[string]string{InternalReason: k.InternalReason, ExternalReason: k.ExternalReason} {
		if text != "" {
			s.Annotations[name] = text
		}
	}
	SetKMS(s, k.KMS)
	SetKEK(s, k.KEK)
	if err := SetMigrated(s, k.Migrated); err != nil {
		return nil, fmt.Errorf("encode key %d: %w", k.ID, err)
	}
	if err := SetDecrypted(s, k.Decrypted); err != nil {
		return nil, fmt.Errorf("encode key %d: %w", k.ID, err)
	}
	return s, nil
}

// Problems of Secrets that are no keys. None shows any of the data.
var (
	errNoID        = errors.New("the name ends in no number")
	errNoMaterial  = errors.New("the entry " + Material + " is missing or empty")
	errNoKMS       = errors.New("a KMS key needs the entries " + KMSProvider + " and " + KMSPlugin)
	errNoReference = errors.New("expected the name of an object, an underscore and the name of an entry")
	errWrongSize   = errors.New("the material has the wrong size")
	errNotJSON     = errors.New("it is not the JSON that it should be")
	errVersion     = errors.New("the annotation " + PluginVersion + " is no number")
)

// Decode returns the key in a Secret. It is backed.
func Decode(s *corev1.Secret) (state.Key, error) {
	k, err := decode(s)
	if err != nil {
		return state.Key{}, fmt.Errorf("secret %s/%s holds no valid encryption key: %w", s.Namespace, s.Name, err)
	}
	return k, nil
}

func decode(s *corev1.Secret) (state.Key, error) {
	id, ok := state.ParseID(s.Name)
	if !ok {
		return state.Key{}, errNoID
	}
	k := state.Key{
		ID: id, Mode: state.Mode(s.Annotations[Mode]), Material: secret.New(s.Data[Material]), Backed: true,
		InternalReason: s.Annotations[InternalReason], ExternalReason: s.Annotations[ExternalReason],
	}
	if !k.Mode.Known() {
		return state.Key{}, fmt.Errorf("the annotation %s has the unknown mode %q", Mode, k.Mode)
	}
	if err := checkMaterial(&k); err != nil {
		return state.Key{}, err
	}
	var err error
	if k.Migrated, err = decodeMigrated(s); err != nil {
		return state.Key{}, err
	}
	if k.Decrypted, err = decodeResources(s, DecryptedResources); err != nil {
		return state.Key{}, err
	}
	if k.Mode == state.KMS {
		if k.KMS, err = decodeKMS(s); err != nil {
			return state.Key{}, err
		}
		if k.KEK, err = decodeKEK(s); err != nil {
			return state.Key{}, err
		}
	}
	return k, nil
}

// checkMaterial minds that identity and KMS keys have the same material always,
// whatever a Secret holds: they are equal by it.
func checkMaterial(k *state.Key) error {
	switch k.Mode {
	case state.Identity, state.KMS:
		k.Material = state.NoMaterial()
		return nil
	}
	switch n := k.Material.Len(); {
	case n == 0:
		return errNoMaterial
	case n == state.MaterialSize, k.Mode == state.AESGCM && (n == 16 || n == 24):
		return nil
	default:
		return fmt.Errorf("%w: %s takes %d bytes, and there are %d", errWrongSize, k.Mode, state.MaterialSize, n)
	}
}

func decodeKMS(s *corev1.Secret) (*state.KMSData, error) {
	provider, plugin := string(s.Data[KMSProvider]), string(s.Data[KMSPlugin])
	if provider == "" || plugin == "" {
		return nil, errNoKMS
	}
	data := &state.KMSData{Provider: provider, Plugin: plugin}
	if text, ok := s.Annotations[PluginVersion]; ok {
		var err error
		if data.Version, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, errVersion
		}
	}
	for _, entry := range slices.Sorted(maps.Keys(s.Data)) {
		var ref state.Reference
		var err error
		if name, ok := strings.CutPrefix(entry, KMSSecret); ok {
			if ref, err = ParseReference(name); err == nil {
				if data.Secrets == nil {
					data.Secrets = map[state.Reference]secret.Bytes{}
				}
				data.Secrets[ref] = secret.New(s.Data[entry])
			}
		} else if name, ok := strings.CutPrefix(entry, KMSConfigMap); ok {
			if ref, err = ParseReference(name); err == nil {
				if data.ConfigMaps == nil {
					data.ConfigMaps = map[state.Reference]string{}
				}
				data.ConfigMaps[ref] = string(s.Data[entry])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the entry %s: %w", entry, err)
		}
	}
	return data, nil
}

// ParseReference is the opposite of [state.Reference.String].
func ParseReference(name string) (state.Reference, error) {
	object, entry, ok := strings.Cut(name, "_")
	if !ok || object == "" || entry == "" {
		return state.Reference{}, errNoReference
	}
	return state.Reference{Object: object, Entry: entry}, nil
}
