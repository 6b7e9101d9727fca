package envelope

import (
	"crypto/sha256"
	"time"

	"google.golang.org/protobuf/proto"

	kmstypes "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2"
)

// Prefix is how the stored values of the provider of that name begin.
func Prefix(name string) string { return "k8s:enc:kms:v2:" + name + ":" }

// Stored is a value as it is stored, without its prefix, and understood. It does not
// change, and may be shared by all who read it.
type Stored struct {
	object *kmstypes.EncryptedObject
	source [sha256.Size]byte
}

// Decode understands what is stored after the prefix. The error is that of every
// provider that tries to.
func Decode(data []byte) (*Stored, error) {
	o := &kmstypes.EncryptedObject{}
	if err := proto.Unmarshal(data, o); err != nil {
		return nil, err
	}
	if err := checkObject(o); err != nil {
		return nil, err
	}
	return &Stored{object: o, source: sourceKey(o)}, nil
}

// KeyID is the id of the key that the plugin has encrypted the seed with.
func (s *Stored) KeyID() string { return s.object.KeyID }

func (s *Stored) derives() bool {
	return s.object.EncryptedDEKSourceType == kmstypes.EncryptedDEKSourceType_HKDF_SHA256_XNONCE_AES_GCM_SEED
}

// encode is the form in which o is stored.
func encode(o *kmstypes.EncryptedObject) ([]byte, error) {
	if err := checkObject(o); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(o)
}

// cacheTTL is how long a decrypted seed is remembered at least. It is forgotten only
// when another is remembered after that; until then it is good, for the same bytes
// always hold the same seed.
const cacheTTL = 24 * time.Hour

// cached is a decrypted seed.
type cached struct {
	seed    *seed
	expires time.Time
}
