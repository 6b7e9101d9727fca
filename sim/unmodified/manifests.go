package unmodified

import (
	"errors"
	"fmt"
	"io"
	"os"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// ReadWebhooks reads the webhook configurations of a file, such as the
// config/webhook/manifests.yaml that controller-gen writes. Documents of other kinds are
// left out; a file without any configuration is an error.
func ReadWebhooks(file string) ([]runtime.Object, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read webhook configurations: %w", err)
	}
	defer f.Close()
	scheme := runtime.NewScheme()
	if err := registrationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("read webhook configurations: %w", err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var configs []runtime.Object
	documents := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for number := 1; ; number++ {
		var document runtime.RawExtension
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", file, number, err)
		}
		obj, gvk, err := decoder.Decode(document.Raw, nil, nil)
		switch {
		case runtime.IsNotRegisteredError(err) || len(document.Raw) == 0:
			continue // of another kind
		case err != nil:
			return nil, fmt.Errorf("%s: document %d: %w", file, number, err)
		}
		switch obj.(type) {
		case *registrationv1.MutatingWebhookConfiguration, *registrationv1.ValidatingWebhookConfiguration:
			configs = append(configs, obj)
		default:
			return nil, fmt.Errorf("%s: document %d: %s cannot be read; write the configurations one by one", file, number, gvk.Kind)
		}
	}
	if len(configs) == 0 {
		return nil, fmt.Errorf("%s has no webhook configuration of admissionregistration.k8s.io/v1", file)
	}
	return configs, nil
}
