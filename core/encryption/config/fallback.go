package config

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FallBack returns the revision of that number which is made of another by writing
// nothing with the keys of those ids any more; see state.State.FallBack. All who make it
// make the very same.
func FallBack(of *corev1.Secret, number int64, without []uint64) (*corev1.Secret, error) {
	on, err := Decode(of)
	if err != nil {
		return nil, err
	}
	back, _ := on.WithGivenUp(without).FallBack()
	name := client.ObjectKey{Namespace: of.Namespace, Name: RevisionName(number)}
	made, err := Encode(back, name)
	if err != nil {
		return nil, fmt.Errorf("make Secret %s of Secret %s: %w", name, of.Name, err)
	}
	made.ObjectMeta = metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}
	return made, nil
}
