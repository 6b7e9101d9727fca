package home

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/drive"
	"github.com/seedbed-sim/seedbed/core/home/grant"
)

// observedKube sits between a home and the API.
type observedKube struct {
	*kubeClient
	life *life
}

// asks notes a call of the API.
func (o observedKube) asks(what string) {
	o.life.requests++
	o.life.acts(what)
	if o.life.making {
		o.life.breaks(newAsksNothing, "New %s", what)
	}
}

// GetPod implements home.Kube.
func (o observedKube) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	l := o.life
	o.asks("reads its Pod")
	l.asked = l.now()
	pod, err := o.kubeClient.GetPod(ctx, namespace, name)
	l.evidence.pod(l.pod, pod, err)
	if err == nil && string(pod.UID) == l.pod.uid {
		l.scope.learn(pod)
		l.podAnswered()
		if do := l.pod.slot.surprise; do != nil {
			l.pod.slot.surprise = nil
			do()
		}
	}
	return pod, err
}

// GetNamespace implements home.Kube.
func (o observedKube) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	o.asks("reads its Namespace")
	o.life.namespaceAsked()
	ns, err := o.kubeClient.GetNamespace(ctx, name)
	o.life.evidence.namespace(ns, err)
	return ns, err
}

// GetResourceClaim implements home.Kube.
func (o observedKube) GetResourceClaim(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	o.asks("reads a claim")
	claim, err := o.kubeClient.GetResourceClaim(ctx, namespace, name)
	o.life.evidence.claim(name, claim, err, o.life.now())
	return claim, err
}

// PatchPodStatus implements home.Kube.
func (o observedKube) PatchPodStatus(ctx context.Context, namespace, name string, patch []byte) error {
	l := o.life
	o.asks("patches its Pod")
	pod, err := o.patch(ctx, namespace, name, patch)
	if err != nil {
		l.doubtful = true
		return err
	}
	if string(pod.UID) != l.pod.uid {
		l.breaks(ownPodOnly, "it has patched the Pod with UID %s, which is another", pod.UID)
	}
	l.patched(patch)
	return nil
}

// patched judges a patch that the API server has carried out.
func (l *life) patched(patch []byte) {
	var body struct {
		Status struct{ Conditions []corev1.PodCondition }
	}
	if err := json.Unmarshal(patch, &body); err != nil || len(body.Status.Conditions) != 1 {
		l.breaks(readinessConverges, "its patch is not of one condition")
		return
	}
	ready := body.Status.Conditions[0].Status == corev1.ConditionTrue
	if n := len(l.patches); n > 0 && l.patches[n-1] == ready && !l.doubtful {
		l.breaks(readinessConverges, "it sets the condition to %t, which it has done before", ready)
	}
	l.doubtful = false
	l.patches = append(l.patches, ready)
	l.env.Touch()
}

// observedFiles sits between a home and its files.
type observedFiles struct {
	filesystem
	life *life
}

// dies ends the process here if it is to die before this change of a file.
func (o observedFiles) dies() {
	l := o.life
	if l.crashAt == 0 {
		return
	}
	if l.crashAt--; l.crashAt == 0 {
		l.state.world.Cluster.Process(l.env.Process).Crash()
	}
}

// changed looks at the directory after the home has changed something.
func (o observedFiles) changed(err error) error {
	l := o.life
	l.acts("writes a file")
	if l.making && !l.state.config.Fetch {
		l.breaks(newAsksNothing, "New writes a file, though it has no grant to fetch")
	}
	if problem := o.volumes.dir.look(true); problem != nil {
		l.breaks(grantFileIsWhole, "%w", problem)
	}
	return err
}

// WriteFile implements home.Files.
func (o observedFiles) WriteFile(ctx context.Context, name string, data []byte) error {
	o.dies()
	return o.changed(o.filesystem.WriteFile(ctx, name, data))
}

// Rename implements home.Files.
func (o observedFiles) Rename(ctx context.Context, from, to string) error {
	o.dies()
	return o.changed(o.filesystem.Rename(ctx, from, to))
}

// Remove implements home.Files.
func (o observedFiles) Remove(ctx context.Context, name string) error {
	o.dies()
	return o.changed(o.filesystem.Remove(ctx, name))
}

// Sync implements home.Files.
func (o observedFiles) Sync(ctx context.Context, name string) error {
	o.dies()
	return o.filesystem.Sync(ctx, name)
}

// SyncDir implements home.Files.
func (o observedFiles) SyncDir(ctx context.Context, dir string) error {
	o.dies()
	return o.filesystem.SyncDir(ctx, dir)
}

// observedWeb sits between a home and the network.
type observedWeb struct {
	*web
	life *life
}

// attemptsApart is the least time between two attempts at a grant while Run runs.
const attemptsApart = time.Second - time.Millisecond

// Get implements grant.Web.
func (o observedWeb) Get(ctx context.Context, req grant.Request) (grant.Response, error) {
	l := o.life
	l.acts("makes a request to the issuer")
	if l.making && !l.state.config.Fetch {
		l.breaks(newAsksNothing, "New makes a request, though it has no grant to fetch")
	}
	if req.Bearer.Len() > 0 && !origin(req.URL) {
		l.breaks(tokensStaySecret, "the Pod's token goes to another place than the controller")
	}
	if strings.HasSuffix(req.URL, "/v1/grant") && !l.making {
		now := l.now()
		if l.attempts > 0 && now-l.tried < attemptsApart {
			l.breaks(issuerIsSpared, "it asks for its grant again after %v", now-l.tried)
		}
		l.attempts++
		l.tried = now
	}
	return o.web.Get(ctx, req)
}

// observedHome sits between a home and what drives it.
type observedHome struct {
	*home.Home
	life *life
}

var _ drive.Home = observedHome{}

// Devices implements drive.Home.
func (o observedHome) Devices(ctx context.Context, g grant.Grant) (home.DeviceChannel, func(), error) {
	channel, release, err := o.Home.Devices(ctx, g)
	if err != nil || release == nil {
		o.life.breaks(devicesAndAddress, "Devices fails: %v", err)
	}
	return channel, release, err
}
