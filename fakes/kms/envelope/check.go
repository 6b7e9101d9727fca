package envelope

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sort"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kmstypes "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2"
)

// Limits, in bytes.
const (
	keyIDMax       = 1024
	sourceMax      = 1024
	annotationsMax = 32 * 1024
)

// checkObject is what a server demands of what it stores or has read.
func checkObject(o *kmstypes.EncryptedObject) error {
	switch t := o.EncryptedDEKSourceType; t {
	case kmstypes.EncryptedDEKSourceType_AES_GCM_KEY, kmstypes.EncryptedDEKSourceType_HKDF_SHA256_XNONCE_AES_GCM_SEED:
	default:
		return fmt.Errorf("unknown encryptedDEKSourceType: %d", t)
	}
	if len(o.EncryptedData) == 0 {
		return errors.New("encrypted data is empty")
	}
	if err := checkSource(o.EncryptedDEKSource); err != nil {
		return fmt.Errorf("failed to validate encrypted DEK source: %w", err)
	}
	if err := checkKeyID(o.KeyID); err != nil {
		return fmt.Errorf("failed to validate key id: %w", err)
	}
	if err := checkAnnotations(o.Annotations); err != nil {
		return fmt.Errorf("failed to validate annotations: %w", err)
	}
	return nil
}

func checkSource(source []byte) error {
	switch {
	case len(source) == 0:
		return errors.New("encrypted DEK source is empty")
	case len(source) > sourceMax:
		return fmt.Errorf("encrypted DEK source is %d bytes, which exceeds the max size of %d", len(source), sourceMax)
	}
	return nil
}

func checkKeyID(id string) error {
	switch {
	case id == "":
		return errors.New("keyID is empty")
	case len(id) > keyIDMax:
		return fmt.Errorf("keyID is %d bytes, which exceeds the max size of %d", len(id), keyIDMax)
	}
	return nil
}

func checkAnnotations(annotations map[string][]byte) error {
	var errs []error
	total := 0
	for _, k := range sortedKeys(annotations) {
		if invalid := validation.IsFullyQualifiedDomainName(field.NewPath("annotations"), k); len(invalid) > 0 {
			errs = append(errs, invalid.ToAggregate())
		}
		total += len(k) + len(annotations[k])
	}
	if total > annotationsMax {
		errs = append(errs, fmt.Errorf("total size of annotations is %d, which exceeds the max size of %d", total, annotationsMax))
	}
	return utilerrors.NewAggregate(errs)
}

func sortedKeys(m map[string][]byte) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// hashOf is how key ids are told to people, who may not see them.
func hashOf(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id)))
}
