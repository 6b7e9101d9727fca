package home

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// grantPod is one Pod, from its creation until its node has forgotten it.
type grantPod struct {
	slot       *slot
	generation int
	uid        string
	account    string
	gone       bool // from the API
	volumes    *volumes
	lives      []*life
}

// createPod makes the next Pod of a slot, as the controller of grants does.
func (s *State) createPod(sl *slot) error {
	sl.generation++
	account := fmt.Sprintf("fiberd-%d", sl.generation)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: sl.name, Labels: map[string]string{"app": "fiberd"}},
		Spec: corev1.PodSpec{
			NodeName: sl.node, ServiceAccountName: account,
			Containers:     []corev1.Container{{Name: "fiberd", Image: "simulated/fiberd"}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: home.PodConditionZygoteReady}},
		},
	}
	grace := int64(s.config.Grace.Std() / time.Second)
	p.Spec.TerminationGracePeriodSeconds = &grace
	if err := s.devices.equip(s, sl, p); err != nil {
		return err
	}
	if err := s.world.Admin().Create(context.Background(), p); err != nil {
		return fmt.Errorf("make Pod %s: %w", sl.name, err)
	}
	pod := &grantPod{slot: sl, generation: sl.generation, uid: string(p.UID), account: account}
	sl.pod, sl.all = pod, append(sl.all, pod)
	s.pods[pod.uid] = pod
	return nil
}

// deletePod deletes the Pod of a slot: with its grace, or by force.
func (s *State) deletePod(sl *slot, force bool) error {
	var opts []client.DeleteOption
	if force {
		opts = append(opts, client.GracePeriodSeconds(0))
	}
	err := s.world.Admin().Delete(context.Background(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: sl.name}}, opts...)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Pod %s: %w", sl.name, err)
	}
	return nil
}

// record follows the Pods, through an API server of its own that never lags.
func (s *State) record() error {
	stream, err := apiserver.NewServer(s.world.Cluster.Store(), "observer").OpenWatch(context.Background(), &apiserver.Request{
		Verb: apiserver.WatchVerb, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: Namespace,
	})
	if err != nil {
		return fmt.Errorf("watch the Pods: %w", err)
	}
	stream.OnReady(func() { s.drain(stream) })
	return nil
}

func (p *grantPod) podUID() types.UID { return types.UID(p.uid) }

func (s *State) drain(stream apiserver.Stream) {
	for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
		p, isPod := ev.Object.(*corev1.Pod)
		if !isPod {
			continue
		}
		if ev.Type != watch.Deleted {
			s.last[p.Name] = p
			continue
		}
		if last := s.last[p.Name]; last != nil && last.UID == p.UID {
			delete(s.last, p.Name)
		}
		if pod := s.pods[string(p.UID)]; pod != nil {
			pod.gone = true
			s.devices.podGone(s, pod)
			s.replace(pod.slot)
		}
	}
	s.world.Engine().Touch()
}

// recreateAfter is how long the controller takes to make a Pod again.
const recreateAfter = 200 * time.Millisecond

// replace makes the Pod that is to come after one that is gone.
func (s *State) replace(sl *slot) {
	if !sl.replacement {
		return
	}
	sl.replacement = false
	s.world.Engine().After(recreateAfter, func(any) {
		if err := s.createPod(sl); err != nil {
			s.world.Say("cannot make Pod %s again: %s", sl.name, err)
		}
	}, nil)
}
