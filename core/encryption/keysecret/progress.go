package keysecret

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

// resources is the form of the annotations MigratedResources and DecryptedResources.
type resources struct {
	Resources []resource `json:"resources"`
}

// resource has the names that Go's encoder gives a schema.GroupResource.
type resource struct{ Group, Resource string }

// SetMigrated writes m into the annotations of a key's Secret. What is not known has
// no annotation.
func SetMigrated(s *corev1.Secret, m state.Migrated) error {
	if err := setResources(s, MigratedResources, m.Resources); err != nil {
		return err
	}
	set(s, MigratedTimestamp, "")
	if len(m.Resources) > 0 && !m.Time.IsZero() {
		set(s, MigratedTimestamp, m.Time.UTC().Format(time.RFC3339))
	}
	return nil
}

// SetDecrypted writes which resources are written as they are.
func SetDecrypted(s *corev1.Secret, grs []schema.GroupResource) error {
	return setResources(s, DecryptedResources, grs)
}

// SetKEK writes how far objects have come with the key that the plugin keeps.
func SetKEK(s *corev1.Secret, k state.KEK) {
	set(s, ConvergedID, k.Converged)
	set(s, ConvergedSince, "")
	if !k.Since.IsZero() {
		set(s, ConvergedSince, k.Since.UTC().Format(time.RFC3339))
	}
	set(s, TargetRemoteKeyID, k.Target)
	set(s, MigratedRemoteKeyID, k.Migrated)
}

// SetKMS replaces what the plugin of a key needs; nil for a key of another mode.
func SetKMS(s *corev1.Secret, d *state.KMSData) {
	maps.DeleteFunc(s.Data, func(entry string, _ []byte) bool {
		return entry == KMSProvider || entry == KMSPlugin || strings.HasPrefix(entry, KMSSecret) || strings.HasPrefix(entry, KMSConfigMap)
	})
	set(s, PluginVersion, "")
	if d == nil {
		return
	}
	s.Data[KMSProvider], s.Data[KMSPlugin] = []byte(d.Provider), []byte(d.Plugin)
	for _, ref := range state.References(d.Secrets) {
		s.Data[KMSSecret+ref.String()] = d.Secrets[ref].Reveal()
	}
	for _, ref := range state.References(d.ConfigMaps) {
		s.Data[KMSConfigMap+ref.String()] = []byte(d.ConfigMaps[ref])
	}
	if d.Version > 0 {
		set(s, PluginVersion, strconv.FormatInt(d.Version, 10))
	}
}

// set writes an annotation, or removes it if there is nothing to say.
func set(s *corev1.Secret, name, text string) {
	if text == "" {
		delete(s.Annotations, name)
		return
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[name] = text
}

func setResources(s *corev1.Secret, name string, grs []schema.GroupResource) error {
	if len(grs) == 0 {
		set(s, name, "")
		return nil
	}
	var form resources
	for _, gr := range grs {
		form.Resources = append(form.Resources, resource(gr))
	}
	text, err := json.Marshal(form)
	if err != nil {
		return fmt.Errorf("encode the annotation %s: %w", name, err)
	}
	set(s, name, string(text))
	return nil
}

func decodeMigrated(s *corev1.Secret) (state.Migrated, error) {
	var m state.Migrated
	var err error
	if m.Time, err = decodeTime(s, MigratedTimestamp); err != nil {
		return m, err
	}
	m.Resources, err = decodeResources(s, MigratedResources)
	return m, err
}

func decodeKEK(s *corev1.Secret) (state.KEK, error) {
	k := state.KEK{
		Converged: s.Annotations[ConvergedID],
		Target:    s.Annotations[TargetRemoteKeyID], Migrated: s.Annotations[MigratedRemoteKeyID],
	}
	var err error
	k.Since, err = decodeTime(s, ConvergedSince)
	return k, err
}

// decodeTime returns the time in an annotation; zero if there is none.
func decodeTime(s *corev1.Secret, name string) (time.Time, error) {
	text, ok := s.Annotations[name]
	if !ok {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("the annotation %s, %q, is no time in the form %s", name, text, time.RFC3339)
	}
	return at, nil
}

func decodeResources(s *corev1.Secret, name string) ([]schema.GroupResource, error) {
	text, ok := s.Annotations[name]
	if !ok {
		return nil, nil
	}
	var form resources
	if err := json.Unmarshal([]byte(text), &form); err != nil {
		return nil, fmt.Errorf("the annotation %s: %w: %w", name, errNotJSON, err)
	}
	var grs []schema.GroupResource
	for _, r := range form.Resources {
		grs = append(grs, schema.GroupResource(r))
	}
	return grs, nil
}
