package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/realmode/indexedjob"
	"github.com/seedbed-sim/seedbed/realmode/testenv"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/mirror"
)

// fates are what becomes of the Pods of an index, one after the other; those after the
// last fare well.
type fates map[int][]string

const (
	crashes = "crashes" // before it has published anything
	isLost  = "is lost" // with its node, after it has published
)

// kubelet runs the Pods of Jobs: the worker, in this process, as the Pod's account.
type kubelet struct {
	t          *testing.T
	kube       client.Client
	kubeconfig string
	fates      fates
	ran        map[int]int // Pods by index
	said       bytes.Buffer
}

// run runs what there is to run, again and again, until ctx ends. Where nobody else
// does, it makes the Pods of Jobs as well.
func (k *kubelet) run(ctx context.Context, controllers bool) {
	for ctx.Err() == nil {
		if !controllers {
			k.control(ctx)
		}
		pods := &corev1.PodList{}
		if err := k.kube.List(ctx, pods, client.HasLabels{indexedjob.Label}); err != nil && ctx.Err() == nil {
			k.t.Error(err)
			return
		}
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodPending || pods.Items[i].Status.Phase == "" {
				k.start(ctx, &pods.Items[i])
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func index(pod *corev1.Pod) int {
	i, _ := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	return i
}

// start runs one Pod to its end.
func (k *kubelet) start(ctx context.Context, pod *corev1.Pod) {
	i := index(pod)
	fate := ""
	if n := k.ran[i]; n < len(k.fates[i]) {
		fate = k.fates[i][n]
	}
	k.ran[i]++
	code := exitFailed
	if fate != crashes {
		code = k.worker(ctx, pod, i)
	}
	if ctx.Err() != nil {
		return
	}
	if fate == isLost {
		if err := k.kube.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
			k.t.Error(err)
		}
		return
	}
	pod.Status.Phase = corev1.PodSucceeded
	if code != exitOK {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code)}},
	}}
	if err := k.kube.Status().Update(ctx, pod); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		k.t.Error(err)
	}
}

// worker runs the program of a Pod.
func (k *kubelet) worker(ctx context.Context, pod *corev1.Pod, i int) int {
	folder := k.t.TempDir()
	files := &corev1.ConfigMap{}
	if err := k.kube.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: pod.Spec.Volumes[0].ConfigMap.Name}, files); err != nil {
		k.t.Error(err)
		return exitFailed
	}
	for name, data := range files.BinaryData {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			k.t.Error(err)
		}
	}
	config, err := clientcmd.LoadFromFile(k.kubeconfig)
	if err != nil {
		k.t.Error(err)
		return exitFailed
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + pod.Namespace + ":" + pod.Spec.ServiceAccountName
	}
	mine := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, mine); err != nil {
		k.t.Error(err)
		return exitFailed
	}
	a := &app{registry: scenarios.MustNew(mirror.System()), out: &k.said, err: &k.said, env: func(name string) string {
		return map[string]string{
			indexedjob.NameVariable: pod.Labels[indexedjob.Label], indexedjob.NamespaceVariable: pod.Namespace,
			indexedjob.IndexVariable: strconv.Itoa(i), "KUBECONFIG": mine,
		}[name]
	}}
	return a.main(ctx, append(slices.Clone(pod.Spec.Containers[0].Args), "--files", folder))
}

// control does what the Job controller does, as far as these tests see it.
func (k *kubelet) control(ctx context.Context) {
	jobs, pods := &batchv1.JobList{}, &corev1.PodList{}
	if err := errors.Join(k.kube.List(ctx, jobs, client.HasLabels{indexedjob.Label}), k.kube.List(ctx, pods, client.HasLabels{indexedjob.Label})); err != nil {
		return // the next look may go well
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if !slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed }) {
			k.sync(ctx, job, pods.Items)
		}
	}
}

func (k *kubelet) sync(ctx context.Context, job *batchv1.Job, pods []corev1.Pod) {
	var done, failed []string
	active := int32(0)
	for i := range int(*job.Spec.Completions) {
		failures := 0
		state := corev1.PodPhase("")
		for p := range pods {
			if pods[p].Labels[indexedjob.Label] != job.Name || index(&pods[p]) != i {
				continue
			}
			if state = pods[p].Status.Phase; state == corev1.PodFailed {
				failures++
			}
		}
		switch {
		case state == corev1.PodSucceeded:
			done = append(done, strconv.Itoa(i))
		case failures > int(*job.Spec.BackoffLimitPerIndex):
			failed = append(failed, strconv.Itoa(i))
		case state == "" || state == corev1.PodFailed:
			k.create(ctx, job, i)
			active++
		default:
			active++
		}
	}
	job.Status.Active, job.Status.Succeeded, job.Status.CompletedIndexes = active, int32(len(done)), strings.Join(done, ",")
	job.Status.FailedIndexes = ptr.To(strings.Join(failed, ","))
	if job.Status.StartTime == nil {
		job.Status.StartTime = ptr.To(metav1.Now())
	}
	now := metav1.Now()
	end := func(kind batchv1.JobConditionType, reason string) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: now})
	}
	if len(done)+len(failed) == int(*job.Spec.Completions) {
		if len(failed) > 0 {
			end(batchv1.JobFailureTarget, batchv1.JobReasonFailedIndexes)
			end(batchv1.JobFailed, batchv1.JobReasonFailedIndexes)
		} else {
			end(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached)
			end(batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
			job.Status.CompletionTime = &now
		}
	}
	if err := k.kube.Status().Update(ctx, job); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		k.t.Error(err)
	}
}

func (k *kubelet) create(ctx context.Context, job *batchv1.Job, i int) {
	pod := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.GenerateName = job.Namespace, fmt.Sprintf("%s-%d-", job.Name, i)
	pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(i)}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	if err := k.kube.Create(ctx, pod); err != nil && ctx.Err() == nil {
		k.t.Error(err)
	}
}

// working starts a kubelet on a cluster, and returns it with a function that ends it.
func working(t *testing.T, kubeconfig string, controllers bool, fates fates) *kubelet {
	t.Helper()
	kube, _, err := connect(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{t: t, kube: kube, kubeconfig: kubeconfig, fates: fates, ran: map[int]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.run(ctx, controllers)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("the workers have said:\n%s", k.said.String())
		}
	})
	return k
}

// exploresInACluster compares a search in a cluster with the same here.
func exploresInACluster(t *testing.T, kubeconfig string, controllers bool) {
	k := working(t, kubeconfig, controllers, fates{1: {crashes}, 2: {isLost}})
	in := func(args ...string) result {
		return seedbed(t, append([]string{"cluster-explore", "--image", "seedbed:test", "--kubeconfig", kubeconfig, "--parts", "4"}, args...)...)
	}

	there := in("holds", "--seeds", "70", "--faults", "stormy")
	there.wants(t, exitOK, ", 4 parts\n")
	_, table, _ := strings.Cut(there.out, "parts\n")
	if diff := cmp.Diff(lasting(seedbed(t, "explore", "holds", "--seeds", "70", "--faults", "stormy").out), lasting(table)); diff != "" {
		t.Errorf("(-here +in the cluster):\n%s", diff)
	}
	if k.ran[1] < 2 || k.ran[2] < 2 {
		t.Errorf("Pods by index: %v", k.ran)
	}
	left := &corev1.ConfigMapList{}
	if err := k.kube.List(t.Context(), left, client.HasLabels{indexedjob.Label}); err != nil || len(left.Items) > 0 {
		t.Errorf("%d ConfigMaps are left, error %v", len(left.Items), err)
	}

	folder, kept := t.TempDir(), filepath.Join(t.TempDir(), "regressions")
	in("testdata/breaks.yaml", "--seeds", "8", "--shrink", "2s", "--replays", folder, "--save-to", kept).wants(t, exitViolated,
		"FAIL breaks, seed 0: mirror.no-orphans\n", "copies without an original: 1", "  history  shrunk from ",
		"  replay   "+filepath.Join(folder, "breaks-seed0.replay.json")+"\n", "  picture  "+filepath.Join(folder, "breaks-seed0.html")+"\n", "  kept     "+filepath.Join(kept, "breaks-seed0.replay.json"))
	seedbed(t, "replay", filepath.Join(folder, "breaks-seed0.replay.json")).wants(t, exitViolated, "copies without an original: 1")
}

// TestClusterExplore: a search in the Pods of a cluster finds what the same search finds
// here, though a Pod crashes and another is lost.
func TestClusterExplore(t *testing.T) {
	exploresInACluster(t, serving(t, "--bare", "--nodes", "0").kubeconfig, false)
}

// TestClusterExploreOnARealServer: Pods are made by a real Job controller, and write
// with no more than their account may do.
func TestClusterExploreOnARealServer(t *testing.T) {
	if os.Getenv("SEEDBED_TEST_REAL") == "" {
		t.Skip("needs a real kube-apiserver, which make test-real builds and starts (SEEDBED_TEST_REAL is not set)")
	}
	server, err := testenv.Start(t.Context(), testenv.Options{Controllers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	exploresInACluster(t, server.Kubeconfig(), true)
}

// TestAPartThatFailsForGood is named; the others are told, and the Job stays.
func TestAPartThatFailsForGood(t *testing.T) {
	kubeconfig := serving(t, "--bare", "--nodes", "0").kubeconfig
	k := working(t, kubeconfig, false, fates{1: slices.Repeat([]string{crashes}, indexedjob.RetriesMax+1)})
	got := seedbed(t, "cluster-explore", "holds", "--seeds", "9", "--image", "i", "--kubeconfig", kubeconfig, "--parts", "3", "--name", "three")
	got.wants(t, exitEngine, "ok     holds         6  held\n", "no result of part 2 of 3; the Job is left for you to look at: kubectl -n default describe job three; seedbed explore --shard PART/3 makes one here")
	if err := k.kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "three"}, &batchv1.Job{}); err != nil {
		t.Error(err)
	}
	// The name is taken by a Job that does something else.
	seedbed(t, "cluster-explore", "holds", "--seeds", "10", "--image", "i", "--kubeconfig", kubeconfig, "--parts", "3", "--name", "three").wants(t, exitBadInput, "there is a Job of that name already")
}

// TestClusterExploreGoesOn after who follows it was interrupted.
func TestClusterExploreGoesOn(t *testing.T) {
	kubeconfig := serving(t, "--bare", "--nodes", "0").kubeconfig
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	args := []string{"cluster-explore", "holds", "--seeds", "9", "--image", "i", "--kubeconfig", kubeconfig, "--parts", "3"}
	got := seedbedIn(ctx, args...)
	if got.code != exitInterrupted {
		t.Errorf("exit code %d, and %s", got.code, got.err)
	}
	k := working(t, kubeconfig, false, nil)
	seedbed(t, args...).wants(t, exitOK, "ok     holds         9  held\n")
	if diff := cmp.Diff(map[int]int{0: 1, 1: 1, 2: 1}, k.ran); diff != "" {
		t.Errorf("Pods by index (-want +got):\n%s", diff)
	}
}

func TestClusterExploreRefusesWhatMakesNoSense(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"holds"}, "seedbed: --image is missing: write the image that Pods run, one whose entry point is seedbed"},
		{[]string{"holds", "--image", "i", "--parts", "0"}, "seedbed: --parts 0: write into how many parts to cut the search, 1 to 1000"},
		{[]string{"holds", "--image", "i", "--parts", "2", "--at-once", "3"}, "seedbed: --at-once 3: write how many Pods may run at once, 1 to 2, the number of parts"},
		{[]string{"holds", "--image", "i", "--cpu", "-1"}, "seedbed: --cpu -1: write how many processors each Pod asks for, such as 0.5, or 0"},
		{[]string{"holds", "--image", "i", "--name", "A_b"}, `seedbed: --name "A_b": write up to 52 lower-case letters, digits and dashes, such as explore-1`},
		{[]string{"holds", "--image", "i", "--strategy", "wild"}, "seedbed: --strategy: "},
		{[]string{"holds", "--image", "i", "--kubeconfig", "testdata/none"}, "seedbed: read the kubeconfig: "},
		{[]string{"worker"}, "seedbed: this is run by the Pods of seedbed cluster-explore, with "},
	} {
		got := seedbed(t, append([]string{"cluster-explore"}, test.args...)...)
		if got.code != exitBadInput || !strings.HasPrefix(got.err, test.want) || strings.Count(got.err, "\n") != 1 || got.out != "" {
			t.Errorf("%v: exit code %d\n%s%s", test.args, got.code, got.out, got.err)
		}
	}
}

func TestClusterExplorePrintsManifests(t *testing.T) {
	seedbed(t, "cluster-explore", "holds", "--image", "i", "--parts", "2", "--cpu", "0.5", "-n", "ci", "--dry-run").wants(t, exitOK,
		"kind: ServiceAccount\n", "kind: Role\n", "kind: RoleBinding\n", "kind: ConfigMap\n", "kind: Job\n", "namespace: ci\n", "completionMode: Indexed\n", "cpu: 500m\n", "  scenarios.json: ")
}
