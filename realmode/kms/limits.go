package kms

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/kms/pkg/service"
)

// Limits that an API server holds a plugin to, in bytes; those of the package kmscheck,
// which would bring all of a client of Kubernetes into this program.
const (
	KeyIDMax       = 1024
	CiphertextMax  = 1024
	AnnotationsMax = 32 << 10 // names and values together
)

// Limits of our own, in bytes.
const (
	// PlaintextMax leaves room in a ciphertext for what sealing adds. API servers send
	// 32 bytes.
	PlaintextMax = 512

	// UIDMax bounds what is logged of a request.
	UIDMax = 1024

	// messageMax is that of a whole request: the annotations, and the rest.
	messageMax = AnnotationsMax + 8<<10
)

func checkUID(uid string) error {
	if len(uid) > UIDMax {
		return fmt.Errorf("the uid has %d bytes, and %d are allowed", len(uid), UIDMax)
	}
	return nil
}

func checkText(text []byte) error {
	if n := len(text); n == 0 || n > PlaintextMax {
		return fmt.Errorf("the plaintext has %d bytes, and 1 to %d are allowed", n, PlaintextMax)
	}
	return nil
}

func checkKeyID(id string) error {
	if n := len(id); n == 0 || n > KeyIDMax {
		return fmt.Errorf("the key id has %d bytes, and 1 to %d are allowed", n, KeyIDMax)
	}
	return nil
}

func checkCiphertext(ciphertext []byte) error {
	if n := len(ciphertext); n == 0 || n > CiphertextMax {
		return fmt.Errorf("the ciphertext has %d bytes, and 1 to %d are allowed", n, CiphertextMax)
	}
	return nil
}

// checkOpen checks what an API server sends back of what it was given. No annotations
// were; those of another plugin under the same name are not understood.
func checkOpen(uid string, r *service.DecryptRequest) error {
	if err := checkUID(uid); err != nil {
		return err
	}
	if err := checkKeyID(r.KeyID); err != nil {
		return err
	}
	size := 0
	for name, value := range r.Annotations {
		if problems := validation.IsFullyQualifiedDomainName(nil, name); len(problems) > 0 {
			return fmt.Errorf("an annotation has a name that is no domain name")
		}
		size += len(name) + len(value)
	}
	if size > AnnotationsMax {
		return fmt.Errorf("the annotations have %d bytes, and %d are allowed", size, AnnotationsMax)
	}
	return checkCiphertext(r.Ciphertext)
}
