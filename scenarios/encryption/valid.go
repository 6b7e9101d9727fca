package encryption

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
)

// configs reads configurations as kube-apiserver does: unknown fields are mistakes.
var configs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

// validConfig returns what a kube-apiserver has against the configuration in a Secret.
func validConfig(s *corev1.Secret) error {
	obj, _, err := configs.UniversalDecoder(apiserver.SchemeGroupVersion).Decode(s.Data[config.Configuration], nil, nil)
	if err != nil {
		return fmt.Errorf("a kube-apiserver could not read the configuration in Secret %s", s.Name) // err may show a key
	}
	cfg, ok := obj.(*apiserver.EncryptionConfiguration)
	if !ok {
		return fmt.Errorf("a kube-apiserver would find a %T in Secret %s", obj, s.Name)
	}
	for _, e := range validation.ValidateEncryptionConfiguration(cfg, true) {
		return fmt.Errorf("a kube-apiserver would refuse the configuration in Secret %s: %s: %s", s.Name, e.Field, e.Type)
	}
	return nil
}
