package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// Entries of the data of a configuration's Secret. All but the first end in the id
// of a KMS key.
const (
	Configuration = "encryption-config"
	Plugin        = "kms-plugin-config-"
	PluginSecret  = "kms-plugin-secret-"    //nolint:gosec // a name
	PluginMap     = "kms-plugin-configmap-" // of a ConfigMap
	PluginVersion = "kms-plugin-version-"   // of changes in place; not there before the first
)

const warning = "WARNING: DO NOT EDIT. Altering this Secret makes encrypted data unreadable, or keeps API servers from starting."

// Name is the name of the Secret that holds what the API servers of a component are
// to load.
func Name(component string) string { return "encryption-config-" + component }

// RevisionName is the name of the Secret that holds what they load at a revision.
func RevisionName(revision int64) string { return revisionPrefix + strconv.FormatInt(revision, 10) }

const revisionPrefix = "encryption-config-"

// ParseRevision is the opposite of [RevisionName].
func ParseRevision(name string) (revision int64, ok bool) {
	number, ok := strings.CutPrefix(name, revisionPrefix)
	if !ok {
		return 0, false
	}
	revision, err := strconv.ParseInt(number, 10, 64)
	return revision, err == nil
}

// FileHash is the hash of a configuration as API servers tell it of the file that they
// have loaded.
func FileHash(configuration []byte) string {
	sum := sha256.Sum256(configuration)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Encode returns s as the Secret of that name.
func Encode(s state.State, name client.ObjectKey) (*corev1.Secret, error) {
	cfg, err := Providers(s)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("encode EncryptionConfiguration: %w", err)
	}
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name,
			Finalizers:  []string{keysecret.Finalizer},
			Annotations: map[string]string{keysecret.Description: warning},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{Configuration: raw},
	}
	for i := range s {
		for _, k := range s[i].Read {
			if err := addPlugin(out.Data, k); err != nil {
				return nil, fmt.Errorf("write the KMS plugin of key %d for %s: %w", k.ID, s[i].GroupResource, err)
			}
		}
	}
	return out, nil
}

// addPlugin adds what the plugin of k needs to data.
func addPlugin(data map[string][]byte, k state.Key) error {
	if k.Mode != state.KMS || k.KMS == nil || k.KMS.Plugin == "" {
		return nil
	}
	id := strconv.FormatUint(k.ID, 10)
	entries := map[string][]byte{Plugin + id: []byte(k.KMS.Plugin)}
	if k.KMS.Version > 0 {
		entries[PluginVersion+id] = strconv.AppendInt(nil, k.KMS.Version, 10)
	}
	for _, ref := range state.References(k.KMS.Secrets) {
		entries[PluginSecret+ref.String()+"-"+id] = k.KMS.Secrets[ref].Reveal()
	}
	for _, ref := range state.References(k.KMS.ConfigMaps) {
		entries[PluginMap+ref.String()+"-"+id] = []byte(k.KMS.ConfigMaps[ref])
	}
	for _, entry := range slices.Sorted(maps.Keys(entries)) {
		if there, ok := data[entry]; ok && !bytes.Equal(there, entries[entry]) {
			return fmt.Errorf("another resource has other data for %s", entry)
		}
		data[entry] = entries[entry]
	}
	return nil
}

// Decode returns the state in a Secret. A Secret without a configuration holds the
// nil state.
func Decode(s *corev1.Secret) (state.State, error) {
	raw, ok := s.Data[Configuration]
	if !ok {
		return nil, nil
	}
	out, err := decode(raw, s.Data)
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s holds no valid encryption configuration: %w", s.Namespace, s.Name, err)
	}
	return out, nil
}

func decode(raw []byte, data map[string][]byte) (state.State, error) {
	var cfg apiserverv1.EncryptionConfiguration
	if err := json.Unmarshal(raw, &cfg); err != nil {
		return nil, fmt.Errorf("the entry %s is not the JSON that it should be", Configuration) // err may show a key
	}
	out, err := ParseProviders(&cfg)
	if err != nil {
		return nil, err
	}
	plugins, err := plugins(data)
	if err != nil {
		return nil, err
	}
	fill := func(k *state.Key) {
		if p := plugins[k.ID]; p != nil && k.KMS != nil {
			filled := *p
			filled.Provider = k.KMS.Provider
			k.KMS = &filled
		}
	}
	for i := range out {
		for j := range out[i].Read {
			fill(&out[i].Read[j])
		}
		if out[i].Write != nil {
			fill(out[i].Write)
		}
	}
	return out, nil
}

// plugins returns what the plugins of KMS keys need, by the ids of the keys.
func plugins(data map[string][]byte) (map[uint64]*state.KMSData, error) {
	all := map[uint64]*state.KMSData{}
	for _, entry := range slices.Sorted(maps.Keys(data)) {
		i := strings.LastIndexByte(entry, '-')
		prefix, name := prefixOf(entry)
		if prefix == "" {
			continue
		}
		id, ok := state.ParseID(entry)
		if !ok {
			return nil, fmt.Errorf("the entry %s ends in no number", entry)
		}
		p := all[id]
		if p == nil {
			p = &state.KMSData{Secrets: map[state.Reference]secret.Bytes{}, ConfigMaps: map[state.Reference]string{}}
			all[id] = p
		}
		switch prefix {
		case Plugin:
			p.Plugin = string(data[entry])
			continue
		case PluginVersion:
			var err error
			if p.Version, err = strconv.ParseInt(string(data[entry]), 10, 64); err != nil {
				return nil, fmt.Errorf("the entry %s is no number", entry)
			}
			continue
		}
		ref, err := keysecret.ParseReference(strings.TrimSuffix(name, entry[i:]))
		if err != nil {
			return nil, fmt.Errorf("the entry %s: %w", entry, err)
		}
		if prefix == PluginSecret {
			p.Secrets[ref] = secret.New(data[entry])
		} else {
			p.ConfigMaps[ref] = string(data[entry])
		}
	}
	return all, nil
}

func prefixOf(entry string) (prefix, rest string) {
	for _, prefix := range []string{Plugin, PluginSecret, PluginMap, PluginVersion} {
		if rest, ok := strings.CutPrefix(entry, prefix); ok {
			return prefix, rest
		}
	}
	return "", ""
}
