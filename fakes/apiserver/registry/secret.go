package registry

import (
	"crypto/tls"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

var secrets = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"),
	Names:            Names{Plural: "secrets"},
	Prototype:        &corev1.Secret{},
	PlainFieldError:  true,
	Fields: []*store.Field{
		{Name: "type", Get: func(o Object) string { return string(o.(*corev1.Secret).Type) }},
	},
	Default: func(obj Object) {
		s := obj.(*corev1.Secret)
		if s.Type == "" {
			s.Type = corev1.SecretTypeOpaque
		}
		if len(s.StringData) > 0 { // write-only: it is part of data from here on
			data := make(map[string][]byte, len(s.Data)+len(s.StringData))
			for k, v := range s.Data {
				data[k] = v
			}
			for k, v := range s.StringData {
				data[k] = []byte(v)
			}
			s.Data = data
		}
		s.StringData = nil
	},
	Settle:   func(obj Object) bool { return withoutNil(&obj.(*corev1.Secret).Data) },
	Validate: func(_ *Context, obj Object) field.ErrorList { return validateSecret(obj.(*corev1.Secret)) },
	Warn: func(obj, _ Object) []string {
		s := obj.(*corev1.Secret)
		if s.Type != corev1.SecretTypeTLS {
			return nil
		}
		if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
			return []string{err.Error()}
		}
		return nil
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		s, was := obj.(*corev1.Secret), old.(*corev1.Secret)
		var errs field.ErrorList
		if s.Type != was.Type {
			errs = append(errs, field.Invalid(field.NewPath("type"), s.Type, "field is immutable"))
		}
		if isTrue(was.Immutable) {
			if !isTrue(s.Immutable) {
				errs = append(errs, field.Forbidden(field.NewPath("immutable"), onceImmutable))
			}
			if !sameBytes(s.Data, was.Data) {
				errs = append(errs, field.Forbidden(field.NewPath("data"), onceImmutable))
			}
		}
		return append(errs, validateSecret(s)...)
	},
}

func validateSecret(s *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("data")
	size := 0
	for key, value := range s.Data {
		errs = append(errs, dataKey(p, key)...)
		size += len(value)
	}
	errs = sorted(errs)
	if size > dataLimit {
		errs = append(errs, field.TooLong(p, "", dataLimit))
	}
	if s.Type == corev1.SecretTypeOpaque {
		return errs
	}
	return append(errs, validateSecretType(s, p)...)
}

// validateSecretType checks that a secret has what its type promises.
func validateSecretType(s *corev1.Secret, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	need := func(keys ...string) {
		for _, key := range keys {
			if _, ok := s.Data[key]; !ok {
				errs = append(errs, field.Required(p.Key(key), ""))
			}
		}
	}
	document := func(key string) {
		data, ok := s.Data[key]
		if !ok {
			need(key)
		} else if err := json.Unmarshal(data, &map[string]any{}); err != nil {
			errs = append(errs, field.Invalid(p.Key(key), "<secret contents redacted>", err.Error()))
		}
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(metadataPath.Child("annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		document(corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		document(corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth:
		_, user := s.Data[corev1.BasicAuthUsernameKey]
		_, password := s.Data[corev1.BasicAuthPasswordKey]
		if !user && !password {
			need(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			errs = append(errs, field.Required(p.Key(corev1.SSHAuthPrivateKey), ""))
		}
	case corev1.SecretTypeTLS:
		need(corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return errs
}
