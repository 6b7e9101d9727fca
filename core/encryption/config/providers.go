package config

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// KMSTimeout is how long an API server waits for a KMS plugin, unless the key says
// otherwise.
const KMSTimeout = 10 * time.Second

// Providers returns s as what API servers load: an entry for each resource, with
// one provider for each key. The first provider writes.
//
// Keys of mode identity cannot be told apart as identity providers. They are kept,
// at the end, as aesgcm providers with a key that never encrypts. KMS keys whose
// provider is not known are left out.
func Providers(s state.State) (*apiserverv1.EncryptionConfiguration, error) {
	cfg := &apiserverv1.EncryptionConfiguration{TypeMeta: metav1.TypeMeta{
		APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "EncryptionConfiguration",
	}}
	for i := range s {
		providers, err := providersOf(&s[i])
		if err != nil {
			return nil, fmt.Errorf("write the providers of %s: %w", s[i].GroupResource, err)
		}
		cfg.Resources = append(cfg.Resources, apiserverv1.ResourceConfiguration{
			Resources: []string{s[i].String()}, Providers: providers,
		})
	}
	slices.SortFunc(cfg.Resources, func(a, b apiserverv1.ResourceConfiguration) int {
		return strings.Compare(a.Resources[0], b.Resources[0])
	})
	return cfg, nil
}

func providersOf(r *state.Resource) ([]apiserverv1.ProviderConfiguration, error) {
	identity := apiserverv1.ProviderConfiguration{Identity: &apiserverv1.IdentityConfiguration{}}
	keys := slices.Clone(r.Read)
	if r.HasWriteKey() {
		keys = slices.DeleteFunc(keys, r.Write.Equal)
		keys = slices.Insert(keys, 0, *r.Write)
	}
	var providers, markers []apiserverv1.ProviderConfiguration
	plainFirst := !r.HasWriteKey() || r.Write.Mode == state.Identity
	if plainFirst {
		providers = append(providers, identity)
	}
	for _, k := range keys {
		p, err := provider(k, r.GroupResource)
		switch {
		case err != nil:
			return nil, err
		case p == nil:
		case k.Mode == state.Identity:
			markers = append(markers, *p)
		default:
			providers = append(providers, *p)
		}
	}
	if !plainFirst {
		providers = append(providers, identity)
	}
	return append(providers, markers...), nil
}

// provider returns the provider of a key; nil if it cannot be told.
func provider(k state.Key, gr schema.GroupResource) (*apiserverv1.ProviderConfiguration, error) {
	aes := func() *apiserverv1.AESConfiguration {
		return &apiserverv1.AESConfiguration{Keys: []apiserverv1.Key{named(k)}}
	}
	switch k.Mode {
	case state.AESCBC:
		return &apiserverv1.ProviderConfiguration{AESCBC: aes()}, nil
	case state.AESGCM, state.Identity:
		return &apiserverv1.ProviderConfiguration{AESGCM: aes()}, nil
	case state.Secretbox:
		return &apiserverv1.ProviderConfiguration{Secretbox: &apiserverv1.SecretboxConfiguration{Keys: aes().Keys}}, nil
	case state.KMS:
		if k.KMS == nil || k.KMS.Provider == "" {
			return nil, nil
		}
		kms, err := ParseKMSProvider(k.KMS.Provider)
		if err != nil {
			return nil, fmt.Errorf("read the KMS provider of key %d: %w", k.ID, err)
		}
		kms.APIVersion, kms.Name, kms.Endpoint, kms.CacheSize = "v2", KMSName(k.ID, gr), KMSEndpoint(k.ID), nil
		if kms.Timeout == nil {
			kms.Timeout = &metav1.Duration{Duration: KMSTimeout}
		}
		return &apiserverv1.ProviderConfiguration{KMS: kms}, nil
	default:
		return nil, fmt.Errorf("key %d has the unknown mode %q", k.ID, k.Mode)
	}
}

func named(k state.Key) apiserverv1.Key {
	return apiserverv1.Key{Name: strconv.FormatUint(k.ID, 10), Secret: base64.StdEncoding.EncodeToString(k.Material.Reveal())}
}

// KMSName is the name of the provider of a KMS key for a resource. API servers
// want it to be unique among all resources, so the group is part of it, which it
// is not upstream.
func KMSName(id uint64, gr schema.GroupResource) string { return fmt.Sprintf("%d_%s", id, gr) }

// KMSEndpoint is where the plugin of a key listens.
func KMSEndpoint(id uint64) string { return fmt.Sprintf("unix:///var/run/kmsplugin/kms-%d.sock", id) }

// KMSProvider returns a provider in the form of [state.KMSData].Provider.
func KMSProvider(kms apiserverv1.KMSConfiguration) (string, error) {
	raw, err := json.Marshal(&apiserverv1.EncryptionConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "EncryptionConfiguration"},
		Resources: []apiserverv1.ResourceConfiguration{{
			Resources: []string{""}, Providers: []apiserverv1.ProviderConfiguration{{KMS: &kms}},
		}},
	})
	if err != nil {
		return "", fmt.Errorf("encode a KMS provider: %w", err)
	}
	return string(raw), nil
}

var errOneKMSProvider = errors.New("expected one resource with one provider, and that of KMS")

// ParseKMSProvider is the opposite of [KMSProvider].
func ParseKMSProvider(text string) (*apiserverv1.KMSConfiguration, error) {
	var cfg apiserverv1.EncryptionConfiguration
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return nil, fmt.Errorf("decode EncryptionConfiguration: %w", err)
	}
	if len(cfg.Resources) != 1 || len(cfg.Resources[0].Providers) != 1 || cfg.Resources[0].Providers[0].KMS == nil {
		return nil, errOneKMSProvider
	}
	return cfg.Resources[0].Providers[0].KMS, nil
}

// ParseProviders is the opposite of [Providers]. Providers that stand for no key are
// passed over. Keys are not backed; what a configuration does not say of them is
// not known.
func ParseProviders(cfg *apiserverv1.EncryptionConfiguration) (state.State, error) {
	var s state.State
	for i := range cfg.Resources {
		entry := &cfg.Resources[i]
		if len(entry.Resources) != 1 {
			return nil, fmt.Errorf("entry %d is for %d resources, expected one", i, len(entry.Resources))
		}
		r := state.Resource{GroupResource: schema.ParseGroupResource(entry.Resources[0])}
		if s.Find(r.GroupResource) != nil {
			return nil, fmt.Errorf("entry %d is another one for %s", i, r.GroupResource)
		}
		if err := read(&r, entry.Providers); err != nil {
			return nil, fmt.Errorf("entry for %s: %w", r.GroupResource, err)
		}
		s = append(s, r)
		slices.SortFunc(s, func(a, b state.Resource) int { return state.Compare(a.GroupResource, b.GroupResource) })
	}
	return s, nil
}

func read(r *state.Resource, providers []apiserverv1.ProviderConfiguration) error {
	for i := range providers {
		k, err := key(&providers[i])
		switch {
		case err != nil:
			return fmt.Errorf("provider %d: %w", i, err)
		case k == nil:
			continue
		}
		r.Read = append(r.Read, *k)
		if i == 0 && k.Mode != state.Identity {
			r.Write = k
		}
	}
	if r.Write == nil { // the newest marker, if there is one
		if i := slices.IndexFunc(r.Read, func(k state.Key) bool { return k.Mode == state.Identity }); i >= 0 {
			k := r.Read[i]
			r.Write = &k
		}
	}
	r.Read = state.NewestFirst(r.Read)
	return nil
}

// key returns the key that a provider stands for; nil if for none.
func key(p *apiserverv1.ProviderConfiguration) (*state.Key, error) {
	var keys []apiserverv1.Key
	k := state.Key{}
	switch {
	case p.AESCBC != nil:
		k.Mode, keys = state.AESCBC, p.AESCBC.Keys
	case p.AESGCM != nil:
		k.Mode, keys = state.AESGCM, p.AESGCM.Keys
	case p.Secretbox != nil:
		k.Mode, keys = state.Secretbox, p.Secretbox.Keys
	case p.KMS != nil:
		return kmsKey(p.KMS)
	default:
		return nil, nil
	}
	if len(keys) != 1 {
		return nil, nil
	}
	id, ok := state.ParseID(keys[0].Name)
	if !ok {
		return nil, fmt.Errorf("the name of a key, %q, ends in no number", keys[0].Name)
	}
	material, err := base64.StdEncoding.DecodeString(keys[0].Secret)
	if err != nil {
		return nil, fmt.Errorf("the secret of key %d is not valid base64", id)
	}
	k.ID, k.Material = id, secret.New(material)
	if k.Mode == state.AESGCM && k.Material.Equal(state.NoMaterial()) {
		k.Mode = state.Identity
	}
	return &k, nil
}

func kmsKey(p *apiserverv1.KMSConfiguration) (*state.Key, error) {
	number, _, _ := strings.Cut(p.Name, "_")
	id, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the name of a KMS provider, %q, does not begin with a number and an underscore", p.Name)
	}
	text, err := KMSProvider(*p)
	if err != nil {
		return nil, err
	}
	return &state.Key{ID: id, Mode: state.KMS, Material: state.NoMaterial(), KMS: &state.KMSData{Provider: text}}, nil
}
