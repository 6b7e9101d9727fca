package config_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

var secrets = schema.GroupResource{Resource: "secrets"}

// cluster rolls out what is desired, at once and everywhere.
type cluster struct {
	t        *testing.T
	deployed *apiserverv1.EncryptionConfiguration
	keys     []state.Key
}

func (c *cluster) addKey(id uint64, mode state.Mode) {
	k := state.Key{ID: id, Mode: mode, Material: state.NoMaterial(), Backed: true}
	switch mode {
	case state.Identity:
	case state.KMS:
		provider, err := config.KMSProvider(apiserverv1.KMSConfiguration{APIVersion: "v2"})
		if err != nil {
			c.t.Fatal(err)
		}
		k.KMS = &state.KMSData{Provider: provider, Plugin: "{}"}
	default:
		k.Material = secret.New(slices.Repeat([]byte{byte(id)}, state.MaterialSize))
	}
	c.keys = append(c.keys, k)
}

func (c *cluster) deleteKey(id uint64) {
	c.keys = slices.DeleteFunc(c.keys, func(k state.Key) bool { return k.ID == id })
}

// settle goes on until there is nothing left to do, and returns every
// configuration that is rolled out on the way.
func (c *cluster) settle() (rolledOut []string) {
	for range 10 {
		var current state.State
		if c.deployed != nil {
			var err error
			if current, err = config.ParseProviders(c.deployed); err != nil {
				c.t.Fatal(err)
			}
		}
		next, phase := state.Desired(current, c.keys, []schema.GroupResource{secrets})
		if phase == state.Migrating {
			newest := slices.MaxFunc(c.keys, func(a, b state.Key) int { return int(a.ID) - int(b.ID) })
			i := slices.IndexFunc(c.keys, newest.Equal)
			c.keys[i].Migrated = state.Migrated{Time: time.Unix(0, 0), Resources: []schema.GroupResource{secrets}}
			continue
		}
		cfg, err := config.Providers(next)
		if err != nil {
			c.t.Fatal(err)
		}
		if phase == state.Settled || phase == state.Waiting {
			if d := cmp.Diff(c.deployed, cfg); d != "" {
				c.t.Errorf("%s, but the configuration changes (-deployed +next):\n%s", phase, d)
			}
			return rolledOut
		}
		c.deployed = cfg
		rolledOut = append(rolledOut, short(cfg))
	}
	c.t.Fatalf("no end after %v", rolledOut)
	return nil
}

// short writes the providers of the only resource: c aescbc, g aesgcm, s secretbox, k
// KMS, i identity, z a marker of an identity key.
func short(cfg *apiserverv1.EncryptionConfiguration) string {
	var out []string
	for _, p := range cfg.Resources[0].Providers {
		switch {
		case p.AESCBC != nil:
			out = append(out, "c"+p.AESCBC.Keys[0].Name)
		case p.AESGCM != nil && p.AESGCM.Keys[0].Secret == base64.StdEncoding.EncodeToString(make([]byte, 16)):
			out = append(out, "z"+p.AESGCM.Keys[0].Name)
		case p.AESGCM != nil:
			out = append(out, "g"+p.AESGCM.Keys[0].Name)
		case p.Secretbox != nil:
			out = append(out, "s"+p.Secretbox.Keys[0].Name)
		case p.KMS != nil:
			id, _, _ := strings.Cut(p.KMS.Name, "_")
			out = append(out, "k"+id)
		default:
			out = append(out, "i")
		}
	}
	return strings.Join(out, ",")
}

// TestGoldenTraces walks one cluster through the lives of fourteen keys.
func TestGoldenTraces(t *testing.T) {
	c := &cluster{t: t}
	add := func(id uint64, mode state.Mode) func() { return func() { c.addKey(id, mode) } }
	for i, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"from off to aescbc", add(1, state.AESCBC), "i,c1 → c1,i"},
		{"to identity", add(2, state.Identity), "c1,i,z2 → i,c1,z2"},
		{"to aescbc", add(3, state.AESCBC), "i,c3,c1,z2 → c3,c1,i,z2 → c3,i,z2"},
		{"for a reason", add(4, state.AESCBC), "c3,c4,i,z2 → c4,c3,i,z2 → c4,c3,i"},
		{"for another reason", add(5, state.AESCBC), "c4,c5,c3,i → c5,c4,c3,i → c5,c4,i"},
		{"for age", add(6, state.AESCBC), "c5,c6,c4,i → c6,c5,c4,i → c6,c5,i"},
		{"the Secret of key 6 is deleted", func() { c.deleteKey(6); c.addKey(7, state.AESCBC) }, "c6,c7,c5,c4,i → c7,c6,c5,c4,i → c7,c6,c5,i"},
		{"the managed configuration is deleted", func() {}, ""},
		{"the deployed configuration is deleted", func() { c.deployed = nil }, "i,c7,c5 → c7,c5,i"},
		{"to KMS", add(8, state.KMS), "c7,k8,c5,i → k8,c7,c5,i → k8,c7,i"},
		{"to aescbc again", add(9, state.AESCBC), "k8,c9,c7,i → c9,k8,c7,i → c9,k8,i"},
		{"to another key", add(11, state.AESCBC), "c9,c11,k8,i → c11,c9,k8,i → c11,c9,i"},
		{"to KMS again", add(12, state.KMS), "c11,k12,c9,i → k12,c11,c9,i → k12,c11,i"},
		{"to another KMS", add(13, state.KMS), "k12,k13,c11,i → k13,k12,c11,i → k13,k12,i"},
		{"from KMS to identity", add(14, state.Identity), "k13,k12,i,z14 → i,k13,k12,z14 → i,k13,z14"},
	} {
		step.do()
		if got := strings.Join(c.settle(), " → "); got != step.want {
			t.Fatalf("step %d, %s: rolled out %q, want %q", i+1, step.name, got, step.want)
		}
	}
}

// TestAConfigurationSurvives parses what is written, for every shape of the golden
// traces and for two resources of the same name.
func TestAConfigurationSurvives(t *testing.T) {
	c := &cluster{t: t}
	for id, mode := range []state.Mode{state.AESCBC, state.AESGCM, state.Secretbox, state.KMS, state.Identity} {
		c.addKey(uint64(id+1), mode)
	}
	grs := []schema.GroupResource{secrets, {Group: "example.com", Resource: "secrets"}, {Resource: "configmaps"}}
	for write := range c.keys {
		s, _ := state.Desired(nil, c.keys, grs)
		for i := range s {
			s[i].Write = &c.keys[write]
		}
		cfg, err := config.Providers(s)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, r := range cfg.Resources {
			for _, p := range r.Providers {
				if p.KMS != nil && names[p.KMS.Name] {
					t.Errorf("two KMS providers have the name %s", p.KMS.Name)
				} else if p.KMS != nil {
					names[p.KMS.Name] = true
				}
			}
		}
		back, err := config.ParseProviders(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !back.Equal(s) {
			t.Errorf("written with key %d, %s comes back as another state", write+1, short(cfg))
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	const key = "c2VjcmV0"
	entry := func(p ...apiserverv1.ProviderConfiguration) apiserverv1.ResourceConfiguration {
		return apiserverv1.ResourceConfiguration{Resources: []string{"secrets"}, Providers: p}
	}
	aes := func(name, secret string) apiserverv1.ProviderConfiguration {
		return apiserverv1.ProviderConfiguration{AESCBC: &apiserverv1.AESConfiguration{Keys: []apiserverv1.Key{{Name: name, Secret: secret}}}}
	}
	for _, c := range []struct {
		name    string
		entries []apiserverv1.ResourceConfiguration
		want    string
	}{
		{"two resources in an entry", []apiserverv1.ResourceConfiguration{{Resources: []string{"a", "b"}}}, "entry 0 is for 2 resources, expected one"},
		{"two entries for a resource", []apiserverv1.ResourceConfiguration{entry(), entry()}, "entry 1 is another one for secrets"},
		{"a key without a number", []apiserverv1.ResourceConfiguration{entry(aes("first", key))}, `entry for secrets: provider 0: the name of a key, "first", ends in no number`},
		{"a secret that is not base64", []apiserverv1.ResourceConfiguration{entry(aes("1", key+"!"))}, "entry for secrets: provider 0: the secret of key 1 is not valid base64"},
		{"a KMS provider of somebody else", []apiserverv1.ResourceConfiguration{entry(apiserverv1.ProviderConfiguration{KMS: &apiserverv1.KMSConfiguration{Name: "vault"}})},
			`entry for secrets: provider 0: the name of a KMS provider, "vault", does not begin with a number and an underscore`},
	} {
		_, err := config.ParseProviders(&apiserverv1.EncryptionConfiguration{Resources: c.entries})
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("%s: error %q, want %q", c.name, got, c.want)
		}
	}
}
