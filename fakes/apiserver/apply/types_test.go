package apply_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
)

// TestKindsThatOthersRegister adds kinds to the scheme that everybody shares, as
// controller-runtime's envtest does when it is only imported.
func TestKindsThatOthersRegister(t *testing.T) {
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
	}
	if _, err := apply.BuiltinTypes().ObjectToTyped(definition); err != nil {
		t.Errorf("the fields of a definition cannot be told apart: %v", err)
	}
}
