package encryption_test

import (
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
)

// TestRefusedConfigurations: what a server does not start with, and why.
func TestRefusedConfigurations(t *testing.T) {
	kmsWith := func(fields string) string {
		return head + "- resources: [secrets]\n  providers:\n  - kms: {apiVersion: v2, " + fields + "}\n"
	}
	good := "name: p, endpoint: 'unix:///x.sock'"
	for name, c := range map[string]struct{ file, want string }{
		"empty":             {"", "file is empty"},
		"half a file":       {forSecrets("c1")[:70], "decode encryption provider configuration file: yaml"},
		"no elements":       {head, "resources: Required value: at least one resources is required"},
		"no YAML":           {"{", "decode encryption provider configuration file"},
		"another kind":      {strings.Replace(forSecrets("i"), "EncryptionConfiguration", "EncryptionConfig", 1), `no kind "EncryptionConfig"`},
		"an unknown field":  {forSecrets("i") + "  provider: []\n", `unknown field "resources[0].provider"`},
		"no resources":      {head + "- providers:\n  - identity: {}\n", "at least one resources[0].resources is required"},
		"no providers":      {head + "- resources: [secrets]\n", "at least one resources[0].providers is required"},
		"two in one":        {head + "- resources: [secrets]\n  providers:\n  - identity: {}\n    " + providerOf("c1") + "\n", "more than one provider specified in a single element"},
		"none in one":       {head + "- resources: [secrets]\n  providers:\n  - {}\n", "provider does not contain any of the expected providers"},
		"overlap":           {head + element("secrets, '*.'", "i"), "using overlapping resources"},
		"twice":             {head + element("secrets, secrets", "i"), "the same resource cannot be specified multiple times"},
		"capitals":          {head + element("Secrets", "i"), "resource name should not contain capital letters"},
		"star":              {head + element("'*'", "i"), "use '*.' to encrypt all the resources from core API group"},
		"any group":         {head + element("'secrets.*'", "i"), "encrypting the same resource across groups is not supported"},
		"events":            {head + element("events.events.k8s.io", "i"), "Use 'events' instead in the config file"},
		"a short key":       {strings.Replace(forSecrets("c1"), "MTExMTEx", "", 1), "secret is not of the expected length, got 26, expected one of [16 24 32]"},
		"no base64":         {strings.Replace(forSecrets("c1"), "MTEx", "MT*x", 1), `Invalid value: "REDACTED": secrets must be base64 encoded`},
		"a short box":       {strings.Replace(forSecrets("s1"), "MTExMTExMTExMTExMTExMTExMTE", "MTExMTE", 1), "expected one of [32]"},
		"no key name":       {strings.Replace(forSecrets("c1"), "name: '1'", "name: ''", 1), "name is a mandatory field for a key"},
		"no keys":           {head + "- resources: [secrets]\n  providers:\n  - aescbc: {keys: []}\n", "at least one keys is required"},
		"KMS without name":  {kmsWith("endpoint: 'unix:///x.sock'"), "name is a mandatory field for a provider"},
		"KMS with a colon":  {kmsWith("name: 'a:b', endpoint: 'unix:///x.sock'"), "must not contain ':'"},
		"KMS twice":         {kmsWith(good) + "  - kms: {apiVersion: v2, " + good + "}\n", "duplicate KMS provider name p"},
		"KMS in no time":    {kmsWith(good + ", timeout: 0s"), "timeout should be a positive value"},
		"KMS by TCP":        {kmsWith("name: p, endpoint: 'tcp://x'"), `unsupported scheme "tcp"`},
		"KMS without end":   {kmsWith("name: p"), "endpoint is a mandatory field for a kms"},
		"KMS with a cache":  {kmsWith(good + ", cachesize: 10"), "cachesize is not supported in v2"},
		"KMS of no version": {strings.Replace(kmsWith(good), "apiVersion: v2", "apiVersion: v3", 1), "only v1 and v2 are supported"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := encryption.ParseConfiguration([]byte(c.file), true)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
			if err != nil && strings.Contains(err.Error(), "MTExMTExMTEx") {
				t.Errorf("the error tells of a key: %v", err)
			}
		})
	}
	if _, err := encryption.ParseConfiguration([]byte(kmsWith(good)), true); err != nil {
		t.Errorf("KMS without a timeout, which is then 3 s: %v", err)
	}
}

// TestProcessesThatDoNotComeUp.
func TestProcessesThatDoNotComeUp(t *testing.T) {
	for file, want := range map[string]string{
		"missing": "error while parsing file: error reading encryption provider configuration file: open /etc/enc.yaml: no such file or directory",
		"":        "error while parsing file: encryption provider configuration file is empty",
		head:      "error while parsing file: resources: Required value: at least one resources is required",
		head + "- resources: [secrets]\n  providers:\n  - kms: {name: p, endpoint: 'unix:///x.sock'}\n": "error while building transformers: KMSv1 is deprecated",
	} {
		l := newLab(t)
		l.file = file
		if _, err := l.start(false); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
