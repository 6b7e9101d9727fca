package keysecret

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// migrated is the form of the annotation MigratedResources.
type migrated struct {
	Resources []resource `json:"resources"`
}

// resource has the names that Go's encoder gives a schema.GroupResource.
type resource struct{ Group, Resource string }

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
	if k.KMS != nil {
		s.Data[KMSProvider], s.Data[KMSPlugin] = []byte(k.KMS.Provider), []byte(k.KMS.Plugin)
		for _, ref := range state.References(k.KMS.Secrets) {
			s.Data[KMSSecret+ref.String()] = k.KMS.Secrets[ref].Reveal()
		}
		for _, ref := range state.References(k.KMS.ConfigMaps) {
			s.Data[KMSConfigMap+ref.String()] = []byte(k.KMS.ConfigMaps[ref])
		}
	}
	if err := SetMigrated(s, k.Migrated); err != nil {
		return nil, fmt.Errorf("encode key %d: %w", k.ID, err)
	}
	return s, nil
}

// SetMigrated writes m into the annotations of a key's Secret. What is not known has
// no annotation.
func SetMigrated(s *corev1.Secret, m state.Migrated) error {
	delete(s.Annotations, MigratedTimestamp)
	delete(s.Annotations, MigratedResources)
	if len(m.Resources) == 0 {
		return nil
	}
	var form migrated
	for _, gr := range m.Resources {
		form.Resources = append(form.Resources, resource(gr))
	}
	text, err := json.Marshal(form)
	if err != nil {
		return fmt.Errorf("encode migrated resources: %w", err)
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[MigratedResources] = string(text)
	if !m.Time.IsZero() {
		s.Annotations[MigratedTimestamp] = m.Time.UTC().Format(time.RFC3339)
	}
	return nil
}

// Problems of Secrets that are no keys. None shows any of the data.
var (
	errNoID         = errors.New("the name ends in no number")
	errNoMaterial   = errors.New("the entry " + Material + " is missing or empty")
	errNoKMS        = errors.New("a KMS key needs the entries " + KMSProvider + " and " + KMSPlugin)
	errNoReference  = errors.New("expected the name of an object, an underscore and the name of an entry")
	errWrongSize    = errors.New("the material has the wrong size")
	errMigratedJSON = errors.New("the annotation " + MigratedResources + " is not the JSON that it should be")
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
	if k.Mode == state.KMS {
		if k.KMS, err = decodeKMS(s); err != nil {
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

func decodeMigrated(s *corev1.Secret) (state.Migrated, error) {
	var m state.Migrated
	if text, ok := s.Annotations[MigratedTimestamp]; ok {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return m, fmt.Errorf("the annotation %s, %q, is no time in the form %s", MigratedTimestamp, text, time.RFC3339)
		}
		m.Time = at
	}
	text, ok := s.Annotations[MigratedResources]
	if !ok {
		return m, nil
	}
	var form migrated
	if err := json.Unmarshal([]byte(text), &form); err != nil {
		return m, fmt.Errorf("%w: %w", errMigratedJSON, err)
	}
	for _, r := range form.Resources {
		m.Resources = append(m.Resources, schema.GroupResource(r))
	}
	return m, nil
}

func decodeKMS(s *corev1.Secret) (*state.KMSData, error) {
	provider, plugin := string(s.Data[KMSProvider]), string(s.Data[KMSPlugin])
	if provider == "" || plugin == "" {
		return nil, errNoKMS
	}
	data := &state.KMSData{Provider: provider, Plugin: plugin}
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
