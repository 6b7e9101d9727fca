package provingground

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// items are the objects of a list.
func items(list client.ObjectList) []client.Object {
	var all []client.Object
	err := meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, o.(client.Object))
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("list %T: %v", list, err)) // it is none
	}
	return all
}

func gigabytes(n int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(n<<30, resource.BinarySI)}
}

// newStatefulSet is one without Pods: nothing here runs them.
func newStatefulSet(_ *Database, name string) client.Object {
	labels := map[string]string{"app": name}
	none := int32(0)
	return &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
		Replicas: &none, ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "member", Image: "member"}}},
		},
	}}
}

func claimList() client.ObjectList       { return &corev1.PersistentVolumeClaimList{} }
func statefulSetList() client.ObjectList { return &appsv1.StatefulSetList{} }
