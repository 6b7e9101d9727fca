package kms

import (
	"strings"

	"k8s.io/kms/pkg/service"
)

// Limits that an API server holds a plugin to, in bytes.
const (
	KeyIDMax       = 1024
	CiphertextMax  = 1024
	AnnotationsMax = 32 * 1024
)

// Answer is one way to answer that is at a limit, or past it.
type Answer struct {
	Name      string
	Behaviour Behaviour

	// Refused says that an API server does not take a key from a plugin that
	// answers like this. Otherwise it is just within the limit.
	Refused bool

	// Read says that the answer is one to Decrypt: it is met by who reads, not by
	// who makes a key.
	Read bool
}

// Answers returns an answer for each limit, on either side of it.
func Answers() []Answer {
	encrypted := func(name string, refused bool, change func(r *service.EncryptResponse)) Answer {
		return Answer{Name: name, Refused: refused, Behaviour: Behaviour{Encrypted: change}}
	}
	both := func(name string, refused bool, id string) Answer {
		return Answer{Name: name, Refused: refused, Behaviour: Behaviour{
			StatusKeyID: Stale(id), Encrypted: func(r *service.EncryptResponse) { r.KeyID = id },
		}}
	}
	annotated := func(name string, refused bool, key string, value int) Answer {
		return encrypted(name, refused, func(r *service.EncryptResponse) {
			r.Annotations = map[string][]byte{key: make([]byte, value)}
		})
	}
	const domain = "a.kms.example.com"
	return []Answer{
		{Name: "healthz is not ok", Refused: true, Behaviour: Behaviour{Healthz: "the HSM is on fire"}},
		{Name: "version v2beta1", Behaviour: Behaviour{Version: "v2beta1"}},
		{Name: "version v1", Refused: true, Behaviour: Behaviour{Version: "v1"}},
		both("no key id", true, ""),
		both("longest key id", false, strings.Repeat("k", KeyIDMax)),
		both("key id too long", true, strings.Repeat("k", KeyIDMax+1)),
		encrypted("another key id than Status", true, func(r *service.EncryptResponse) { r.KeyID += "-other" }),
		encrypted("no key id from Encrypt", true, func(r *service.EncryptResponse) { r.KeyID = "" }),
		encrypted("no ciphertext", true, func(r *service.EncryptResponse) { r.Ciphertext = nil }),
		encrypted("longest ciphertext", false, func(r *service.EncryptResponse) { r.Ciphertext = make([]byte, CiphertextMax) }),
		encrypted("ciphertext too long", true, func(r *service.EncryptResponse) { r.Ciphertext = make([]byte, CiphertextMax+1) }),
		encrypted("no annotations", false, func(r *service.EncryptResponse) { r.Annotations = nil }),
		annotated("annotation without a domain", true, "version", 1),
		annotated("annotation in capitals", true, "Version.kms.example.com", 1),
		annotated("largest annotations", false, domain, AnnotationsMax-len(domain)),
		annotated("annotations too large", true, domain, AnnotationsMax-len(domain)+1),
		{Name: "another text", Refused: true, Read: true, Behaviour: Behaviour{Decrypted: func(text []byte) []byte {
			other := append([]byte(nil), text...)
			other[0] ^= 1
			return other
		}}},
		{Name: "half a text", Refused: true, Read: true, Behaviour: Behaviour{Decrypted: func(text []byte) []byte { return text[:len(text)/2] }}},
		{Name: "no text", Refused: true, Read: true, Behaviour: Behaviour{Decrypted: func([]byte) []byte { return nil }}},
	}
}
