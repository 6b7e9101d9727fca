package encryption

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kms/pkg/service"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/kmscheck"
	"github.com/seedbed-sim/seedbed/core/encryption/preflightpod"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

const (
	checkPod        = preflightpod.Name
	checkCallsLimit = 10 * time.Second
	checkerUser     = "system:serviceaccount:seedbed-encryption:kms-preflight"
)

func (s *State) preflightDeployer(env *cluster.Env) encryption.KMSPreflightDeployer {
	pods := &preflightpod.Deployer{Live: env.Kube, Namespace: Namespace, Spec: func(string, *corev1.Secret) (corev1.PodSpec, error) {
		// Its plugins are what s.tried runs.
		return corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: preflightpod.Container, Image: "seedbed/kms-preflight-check"}}}, nil
	}}
	return &observedDeployer{pods, s, env}
}

// checkFault is what befalls a check.
type checkFault string

// What may befall a check.
const (
	noCheckFault      checkFault = ""
	checkNotPulled    checkFault = "image-not-pulled"
	checkUnscheduled  checkFault = "unschedulable"
	checkKilledEarly  checkFault = "killed-before-the-report"
	checkKilledLate   checkFault = "killed-after-the-report"
	checkSilent       checkFault = "ends-without-a-report"
	checkRefused      checkFault = "report-refused"
	checkNodeLost     checkFault = "node-lost"
	checkCoexistence  checkFault = "port-collision"
	checkTakesForever checkFault = "hangs"
)

// checks are the Pods of checks that there were.
type checks struct {
	count int
	pods  []*checkRun
}

// checkRun is the Pod of a check.
type checkRun struct {
	pod     *corev1.Pod
	hash    string
	fault   checkFault
	process *cluster.Process
	passed  bool
	gone    bool
	exit    int32
	done    bool
	data    *state.KMSData // what the plugin is run with
	ended   time.Duration
}

// checkPodChanged lets kubelets run the Pods of checks.
func (s *State) checkPodChanged(pod *corev1.Pod, exists bool) {
	var run *checkRun
	for _, r := range s.kms.pods {
		if r.pod.UID == pod.UID {
			run = r
		}
	}
	switch {
	case run == nil && exists:
		s.kms.count++
		run = &checkRun{pod: pod, hash: pod.Annotations[preflightpod.HashAnnotation], fault: s.kms.next}
		s.kms.pods = append(s.kms.pods, run)
		s.judgeCheck(run)
		s.tell("preflight", "a Pod is to check the KMS plugin")
		draw := s.world.Engine().Stream("kubelet", "preflight")
		s.world.Engine().After(draw.Duration(engine.Dist{Min: time.Second, Max: 10 * time.Second}), func(any) { s.runCheck(run, draw) }, nil)
	case run != nil && !exists && !run.gone:
		run.gone = true
		if s.history.writer == controllersUser {
			s.judgeCleanup(run)
		}
		if run.process != nil {
			run.process.Stop()
		}
	}
}

// runCheck is what the scheduler and the kubelet do with a new Pod.
func (s *State) runCheck(run *checkRun, draw *engine.Stream) {
	if run.gone {
		return
	}
	var up []*node
	for _, n := range s.nodes {
		if !n.node.Down() {
			up = append(up, n)
		}
	}
	if run.fault == checkUnscheduled || len(up) == 0 {
		s.checkStatus(run, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			setPodCondition(p, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
		})
		s.world.Engine().After(time.Minute, func(any) { s.retryCheck(run, draw) }, nil)
		return
	}
	n := pick(draw, up)
	if run.fault == checkNotPulled {
		s.checkStatus(run, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			if p.Status.StartTime == nil {
				p.Status.StartTime = ptr.To(s.now())
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kms-preflight-check", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
		})
		s.world.Engine().After(time.Minute, func(any) { s.retryCheck(run, draw) }, nil)
		return
	}
	s.checkStatus(run, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.StartTime = corev1.PodRunning, ptr.To(s.now())
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kms-preflight-check", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: s.now()}}}}
	})
	run.process = n.node.Process(cluster.ProcessSpec{
		Name: fmt.Sprintf("kms-preflight-%d", s.kms.count), User: user(checkerUser), Restart: cluster.Restart{Never: true},
		Main: func(ctx context.Context, env *cluster.Env) {
			env.OnEnd(func() { s.checkEnded(run, n) })
			s.check(ctx, env, n, run)
		},
	})
	if run.fault == checkNodeLost {
		n.node.Restart(10 * time.Minute)
	}
}

// retryCheck looks whether what befell the Pod is over.
func (s *State) retryCheck(run *checkRun, draw *engine.Stream) {
	if run.fault != s.kms.next {
		run.fault = noCheckFault
	}
	s.runCheck(run, draw)
}

// check is the main function of the container that checks.
func (s *State) check(ctx context.Context, env *cluster.Env, n *node, run *checkRun) {
	run.exit = 1
	given := &corev1.Secret{}
	if err := env.Kube.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: encryption.PreflightConfigName}, given); err != nil {
		return // the kubelet could not mount it; the Pod fails
	}
	run.data = candidateOf(given)
	plugins, err := s.tried(env, n, given, run)
	if err != nil {
		run.fault = checkNotPulled
		return
	}
	reporter := kmscheck.Reporter{Live: env.Kube, Clock: env.Clock, Pod: client.ObjectKey{Namespace: Namespace, Name: checkPod}, ConfigHash: run.hash}
	if run.fault == checkRefused {
		reporter.Live = refusing{env.Kube}
	}

	if run.fault == checkSilent {
		run.exit = 0
		return
	}
	started := retry(ctx, env, func() error { return reporter.Started(ctx) })
	switch run.fault {
	case checkKilledEarly:
		run.exit = 137
		return
	case checkTakesForever:
		_ = env.Clock.Sleep(ctx, 24*time.Hour)
		return
	}
	kek, result := kmscheck.Check(ctx, kmscheck.Config{Plugins: plugins, CallTimeout: checkCallsLimit, Clock: env.Clock, Entropy: env.Entropy})
	reported := retry(ctx, env, func() error {
		run.passed = result == nil // before anybody can know
		run.ended = s.world.Engine().Elapsed()
		return reporter.Ended(ctx, kek, result)
	})
	if run.fault == checkKilledLate {
		run.exit = 137
		return
	}
	if errors.Join(started, result, reported) == nil {
		run.exit = 0
	}
}

// retry tries a report again and again for a while.
func retry(ctx context.Context, env *cluster.Env, do func() error) (err error) {
	for range 10 {
		if err = do(); err == nil {
			return nil
		}
		if e := env.Clock.Sleep(ctx, 2*time.Second); e != nil {
			return e
		}
	}
	return err
}

// tried are the plugins that run in the Pod, the newest first.
func (s *State) tried(env *cluster.Env, n *node, given *corev1.Secret, run *checkRun) ([]service.Service, error) {
	specs, err := pluginsOf(given)
	if err != nil {
		return nil, err
	}
	var all []service.Service
	for i, spec := range specs {
		p, err := s.open(spec)
		if err != nil {
			return nil, err
		}
		p.plugin = kms.NewPlugin(p.vault, env.Clock)
		s.behave(n, p)
		if i > 0 && run.fault == checkCoexistence {
			p.plugin.Behave(kms.Outage(errPort))
		}
		all = append(all, p.plugin)
	}
	return all, nil
}

var errPort = errors.New("listen: address already in use")

// checkEnded tells what has become of the container.
func (s *State) checkEnded(run *checkRun, n *node) {
	if run.done || n.node.Down() {
		return // nobody is left to tell
	}
	run.done = true
	s.checkStatus(run, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		reason := "Error"
		switch run.exit {
		case 0:
			p.Status.Phase, reason = corev1.PodSucceeded, "Completed"
		case 137:
			reason = "OOMKilled"
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kms-preflight-check", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: run.exit, Reason: reason, FinishedAt: s.now()}}}}
	})
}

// checkStatus writes what the kubelet knows of a Pod, and leaves what others wrote.
func (s *State) checkStatus(run *checkRun, change func(*corev1.Pod)) {
	pod := &corev1.Pod{}
	err := s.kubelets.Get(background, client.ObjectKeyFromObject(run.pod), pod)
	if apierrors.IsNotFound(err) || err == nil && pod.UID != run.pod.UID {
		return
	}
	s.must(err)
	change(pod)
	s.must(s.kubelets.Status().Update(background, pod))
}

func (s *State) now() metav1.Time { return metav1.NewTime(s.world.Engine().Now()) }

func setPodCondition(p *corev1.Pod, c corev1.PodCondition) {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == c.Type {
			p.Status.Conditions[i] = c
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
}

// refusing is an API that does not let the checker write its status.
type refusing struct{ client.Client }

// Status implements client.Client.
func (r refusing) Status() client.SubResourceWriter { return refusingWriter{r.Client.Status()} }

type refusingWriter struct{ client.SubResourceWriter }

// Apply implements client.SubResourceWriter.
func (refusingWriter) Apply(context.Context, applyConfiguration, ...client.SubResourceApplyOption) error {
	return apierrors.NewForbidden(corev1.Resource("pods"), checkPod, errors.New("RBAC: not allowed"))
}

// passedBefore reports whether a check of an attempt has passed.
func (s *State) passedBefore(attempt string) bool {
	for _, r := range s.kms.pods {
		if r.hash == attempt && r.passed {
			return true
		}
	}
	return false
}

// pluginIdentity is what makes the plugin of a key another one, as text.
func pluginIdentity(raw string) string {
	var k struct {
		Identity json.RawMessage `json:"identity"`
	}
	if err := json.Unmarshal([]byte(raw), &k); err != nil {
		return ""
	}
	return string(k.Identity)
}
