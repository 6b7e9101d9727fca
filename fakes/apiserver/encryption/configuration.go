package encryption

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/apiserver"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
)

// Configuration is an EncryptionConfiguration that a server accepts.
type Configuration struct {
	config *apiserver.EncryptionConfiguration
	hash   string
}

// Hash is what the metric apiserver_encryption_config_controller_last_config_info
// tells of the file: "sha256:" and the sum in hexadecimal.
func (c *Configuration) Hash() string { return c.hash }

// HashOf is the Hash of a file with that content.
func HashOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	utilruntime.Must(apiserver.AddToScheme(scheme))
	utilruntime.Must(apiserverv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

var errEmpty = errors.New("encryption provider configuration file is empty")

// ParseConfiguration reads a file as a server does: strictly, and with its validation.
// With reload the rules are those for servers with automatic reload, which are stricter
// about the names of KMS providers. No error tells of keys.
func ParseConfiguration(data []byte, reload bool) (*Configuration, error) {
	if len(data) == 0 {
		return nil, errEmpty
	}
	obj, gvk, err := codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode encryption provider configuration file: %w", err)
	}
	config, ok := obj.(*apiserver.EncryptionConfiguration)
	if !ok {
		return nil, fmt.Errorf("got unexpected config type: %v", gvk)
	}
	errs := validation.ValidateEncryptionConfiguration(config, reload)
	for _, e := range errs {
		if _, whole := e.BadValue.(apiserver.ProviderConfiguration); whole {
			e.BadValue = "REDACTED" // a real server tells all of it, keys included
		}
	}
	if err := errs.ToAggregate(); err != nil {
		return nil, err
	}
	return &Configuration{config: config, hash: HashOf(data)}, nil
}
