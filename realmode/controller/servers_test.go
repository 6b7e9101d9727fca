package controller_test

import (
	"crypto/rand"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/realmode/controller"
)

// controlPlane is one node whose API server a kubelet starts with each new revision, as
// the node agent has it done.
func (w *world) controlPlane() {
	w.Helper()
	w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp", Labels: map[string]string{deployer.ControlPlaneLabel: ""}}})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: controller.ServersNamespace, Name: "kube-apiserver-cp", Labels: map[string]string{"component": "kube-apiserver"}},
		Spec:       corev1.PodSpec{NodeName: "cp", Containers: []corev1.Container{{Name: "kube-apiserver", Image: "kube-apiserver"}}},
	}
	w.create(pod)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w.must(w.admin.Status().Update(w.Context(), pod))
	var kubelet sync.WaitGroup
	w.Cleanup(kubelet.Wait) // by then the context of the test has ended
	kubelet.Go(func() {
		for running := int64(0); w.Context().Err() == nil; time.Sleep(time.Second) {
			if revision, file := w.newest(); revision > running {
				time.Sleep(20 * time.Second)
				w.boot(revision, file)
				running = revision
			}
		}
	})
}

// newest is the newest revision that there is.
func (w *world) newest() (revision int64, file []byte) {
	list := &corev1.SecretList{}
	if err := w.admin.List(w.Context(), list, client.InNamespace(controller.EncryptionNamespace)); err != nil {
		return 0, nil // the test has ended
	}
	for i := range list.Items {
		if n, ok := config.ParseRevision(list.Items[i].Name); ok && n > revision {
			revision, file = n, list.Items[i].Data[config.Configuration]
		}
	}
	return revision, file
}

// boot starts the API server anew, and labels its Pod.
func (w *world) boot(revision int64, file []byte) {
	l, err := encryption.Start(encryption.Options{
		Surroundings: encryption.Surroundings{Timers: kms.NewManualTimers(), Random: rand.Reader},
		File:         func() ([]byte, error) { return file, nil },
	})
	if err != nil {
		w.Errorf("revision %d: %v", revision, err)
		return
	}
	w.lock.Lock()
	w.server.Restart()
	w.server.SetEncryption(l)
	w.lock.Unlock()
	pod := &corev1.Pod{}
	if err := w.admin.Get(w.Context(), client.ObjectKey{Namespace: controller.ServersNamespace, Name: "kube-apiserver-cp"}, pod); err != nil {
		return // the test has ended
	}
	pod.Labels[deployer.RevisionLabel] = strconv.FormatInt(revision, 10)
	if err := w.admin.Update(w.Context(), pod); err != nil && w.Context().Err() == nil {
		w.Error(err)
	}
}

// sealedBy are the ways in which the Secrets of a namespace are stored, each once.
func (w *world) sealedBy(namespace string) (ways []string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, o := range w.store.Stored(corev1.Resource("secrets")) {
		if way := o.SealedBy.String(); o.Namespace == namespace && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	return ways
}
