package shadow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
)

// PreviousMax is how many placeholders of before a shadow keeps for each key.
const PreviousMax = 2

// NameOf returns the name of the shadow of a Secret.
func NameOf(name string) string { return name + cloak.ShadowSecretSuffix }

// OwnerName returns the name of the Secret that a Secret of this name could be the
// shadow of.
func OwnerName(name string) (owner string, ok bool) {
	owner, ok = strings.CutSuffix(name, cloak.ShadowSecretSuffix)
	return owner, ok && owner != ""
}

// Managed reports whether a Secret says of itself that it is a shadow.
func Managed(s *corev1.Secret) bool { return s.Labels[cloak.LabelManaged] == "true" }

// Owned reports whether s is the shadow of original, of this very object and not of one
// that had its name before.
func Owned(s, original *corev1.Secret) bool {
	if !Managed(s) || s.Labels[cloak.LabelOwner] != original.Name || s.Namespace != original.Namespace || s.Name != NameOf(original.Name) {
		return false
	}
	ref := metav1.GetControllerOf(s)
	return ref != nil && ref.Kind == "Secret" && ref.APIVersion == "v1" && ref.Name == original.Name && ref.UID == original.UID
}

// orphaned reports whether s is the shadow of a Secret that had the name of original
// before it. The garbage collector deletes it.
func orphaned(s, original *corev1.Secret) bool {
	ref := metav1.GetControllerOf(s)
	return Managed(s) && s.Labels[cloak.LabelOwner] == original.Name && ref != nil && ref.Kind == "Secret" && ref.UID != original.UID
}

// Previous returns the placeholders that the keys of a shadow had before, the latest
// first: those that still have the length of the current one. What cannot be read is
// none.
func Previous(s *corev1.Secret) map[string][]string {
	var all map[string][]string
	if json.Unmarshal([]byte(s.Annotations[cloak.AnnotationPrevious]), &all) != nil {
		return nil
	}
	previous := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		previous[key] = kept(all[key], len(s.Data[key]))
	}
	return previous
}

// kept returns the placeholders of a length, at most as many as are kept.
func kept(list []string, length int) (out []string) {
	for _, p := range list {
		if placeholder.Is(p) && len(p) == length && len(out) < PreviousMax {
			out = append(out, p)
		}
	}
	return out
}

// empty returns a shadow of original without placeholders.
func empty(original *corev1.Secret) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: original.Namespace, Name: NameOf(original.Name),
			Labels: map[string]string{cloak.LabelManaged: "true", cloak.LabelOwner: original.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Secret", Name: original.Name, UID: original.UID,
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Type: typeOf(original.Type),
	}
}

// typeOf returns the type of the shadow of a Secret: the same, unless the API server
// looks into the values of that type, or something acts on Secrets of that type.
func typeOf(t corev1.SecretType) corev1.SecretType {
	switch t {
	case corev1.SecretTypeDockercfg, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken:
		return corev1.SecretTypeOpaque
	}
	return t
}
