package controllermanager_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

func TestABoundClaimTellsWhetherItIsUsed(t *testing.T) {
	claims := corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	l := newLab(t, controllermanager.ClaimProtection)
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	l.create(claims, c)
	tells := func() string {
		l.settle()
		text := ""
		for _, c := range l.must(&apiserver.Request{Verb: apiserver.Get, Resource: claims, Namespace: "default", Name: "c"}).Object.(*corev1.PersistentVolumeClaim).Status.Conditions {
			text += fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason)
		}
		return text
	}
	if got := tells(); got != "" {
		t.Errorf("before it is bound: %s", got)
	}
	l.must(&apiserver.Request{
		Verb: apiserver.Patch, Resource: claims, Subresource: "status", Namespace: "default", Name: "c",
		PatchType: types.MergePatchType, Body: []byte(`{"status":{"phase":"Bound"}}`),
	})
	if got := tells(); got != "Unused=True NoPodsUsingPVC" {
		t.Errorf("without a pod: %s", got)
	}
	l.podNamed("p", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"},
		}}}
	})
	if got := tells(); got != "Unused=False PodUsingPVC" {
		t.Errorf("with a pod: %s", got)
	}
	l.must(&apiserver.Request{Verb: apiserver.Delete, Resource: pods, Namespace: "default", Name: "p"})
	if got := tells(); got != "Unused=True NoPodsUsingPVC" {
		t.Errorf("after the pod: %s", got)
	}
}
