package encryption

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// MishapArgs say what befalls agents.
type MishapArgs struct {
	Rate    scenarios.Rate `yaml:"rate" form:"required,short" doc:"The chance right before, and right after, each change of the disk; 0% ends it."`
	Machine bool           `yaml:"machine" doc:"The node loses power, and not the agent alone dies."`
}

// ReloadFaultArgs say what is wrong with an API server that loads a file by itself.
type ReloadFaultArgs struct {
	Node scenarios.NodeName `yaml:"node" form:"required" doc:"The node."`
	What string             `yaml:"what" form:"required" enum:"never-polls polls-again partial-file" doc:"It never looks at its file again, from its next start on; it does again; or half of the file is there until the agent has looked."`
}

// LeftPodArgs describe the Pod of an API server that has ended.
type LeftPodArgs struct {
	Revision string `yaml:"revision" form:"required,short" enum:"older newer gone" doc:"Its revision, beside the latest; gone removes what was left."`
}

// CompactArgs say how often etcd forgets.
type CompactArgs struct {
	Every scenarios.Duration `yaml:"every" form:"required" doc:"The time between two compactions."`
	For   scenarios.Duration `yaml:"for" form:"required" doc:"For how long."`
}

func worldSteps() []scenarios.StepKind {
	return []scenarios.StepKind{
		scenarios.NewStep("mishaps", "From now on agents die where they change their disks.", "encryption.mishaps: {rate: 5%, machine: true}", setMishap),
		scenarios.NewStep("reloadFault", "Something is wrong with an API server that loads its file by itself.", "encryption.reloadFault: {node: node-1, what: partial-file}", reloadFault),
		scenarios.NewStep("leftPod", "The Pod of an API server that ended lies around on a node.", "encryption.leftPod: older", leftPod),
		scenarios.NewStep("aggregated", "The operator of the aggregated API server stops, or goes on, to bring it up to date.", "encryption.aggregated: false", setAggregated),
		scenarios.NewStep("emptyPolicy", "An administrator takes all resources out of the policy, which is refused.", "encryption.emptyPolicy:", emptyPolicy),
		scenarios.NewStep("dropNamespace", "Somebody deletes a namespace, finalizers or not, and leaves what was in it, which API servers, as those before 1.37, do not find for writes any more.", "encryption.dropNamespace: orphans", dropNamespace),
		scenarios.NewStep("compact", "Etcd is compacted again and again: lists that are under way cannot go on where they were.", "encryption.compact: {every: 20ms, for: 5s}", compact),
		scenarios.NewStep("backUp", "Somebody takes a snapshot of etcd.", "encryption.backUp:", backUpStore),
		scenarios.NewStep("restoreBackup", "Somebody restores the snapshot of etcd, and restarts all API servers, with the disks as they are.", "encryption.restoreBackup:", restoreStore),
	}
}

func setMishap(st *scenarios.Story, s *State, args MishapArgs) error {
	st.Tell("node", "from now on agents die at %s of the changes of their disks", args.Rate)
	s.mishap = mishap{engine.Prob(args.Rate), args.Machine}
	for _, n := range s.nodes {
		o := n.node.Disk().Options()
		if args.Machine { // what was not synced may be lost, or be there in part
			o.Lose, o.Tear, o.LoseNames = half, half, half
		}
		n.node.Disk().SetOptions(o)
	}
	return nil
}

// half is a probability.
const half engine.Prob = 500_000

var errAccepted = errors.New("it was accepted")

func emptyPolicy(st *scenarios.Story, s *State, _ NoArgs) error {
	st.Tell("policy", "takes all resources out of the policy")
	policy := &v1alpha1.EncryptionPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	err := s.operator.Patch(background, policy, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resources":[]}}`)))
	if err == nil {
		return fmt.Errorf("a policy without resources: %w", errAccepted)
	}
	if !apierrors.IsInvalid(err) {
		return err
	}
	st.Tell("policy", "is refused: %v", err)
	return nil
}

func reloadFault(st *scenarios.Story, s *State, args ReloadFaultArgs) error {
	n := s.byName[st.Node(args.Node)]
	st.Tell(n.name, "the API server: %s", args.What)
	switch args.What {
	case "never-polls":
		n.deaf = true
		n.process.Crash()
	case "polls-again":
		n.deaf = false
		n.process.Crash()
	default:
		raw, err := n.node.Disk().ReadFile(reloadedFile)
		if err != nil {
			return fmt.Errorf("read the file: %w", err)
		}
		return bringTo(n.node.Disk(), reloadedFile, raw[:len(raw)/2])
	}
	return nil
}

const leftPodName = "kube-apiserver-left"

func leftPod(st *scenarios.Story, s *State, args LeftPodArgs) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: serverNamespace, Name: leftPodName, Labels: map[string]string{"component": "kube-apiserver"},
	}}
	s.disturbed()
	if args.Revision == "gone" {
		st.Tell("node", "removes the Pod that was left")
		return s.kubelets.Delete(background, pod, client.GracePeriodSeconds(0))
	}
	revision := s.policy.Status.LatestRevision
	if args.Revision == "newer" {
		revision++
	} else {
		revision--
	}
	st.Tell("node", "a Pod of revision %d that has failed lies around", revision)
	pod.Labels[deployer.RevisionLabel] = strconv.FormatInt(revision, 10)
	pod.Spec = corev1.PodSpec{NodeName: s.nodes[0].name, Containers: []corev1.Container{{Name: "kube-apiserver", Image: "registry.k8s.io/kube-apiserver"}}}
	if err := s.kubelets.Create(background, pod); err != nil {
		return fmt.Errorf("create Pod %s: %w", leftPodName, err)
	}
	pod.Status.Phase = corev1.PodFailed
	return s.kubelets.Status().Update(background, pod)
}

// NamespaceArgs name a namespace.
type NamespaceArgs struct {
	Name string `yaml:"name" form:"required,short" doc:"The namespace."`
}

func dropNamespace(st *scenarios.Story, s *State, args NamespaceArgs) error {
	st.Tell("namespace", "deletes namespace %s, and leaves what is in it", args.Name)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: args.Name}}
	if err := s.operator.Delete(background, ns); err != nil {
		return fmt.Errorf("delete namespace %s: %w", args.Name, err)
	}
	if err := s.operator.Get(background, client.ObjectKeyFromObject(ns), ns); err != nil {
		return fmt.Errorf("get namespace %s: %w", args.Name, err)
	}
	ns.Spec.Finalizers = nil
	if err := s.operator.SubResource("finalize").Update(background, ns); err != nil {
		return fmt.Errorf("finalize namespace %s: %w", args.Name, err)
	}
	if s.dropped == nil {
		s.dropped = map[string]bool{}
		s.world.Cluster.Store().Hook(admission.Hook{
			Name: "namespaces.encryption.seedbed.dev",
			Match: admission.Match{
				Operations: []admission.Operation{admission.Create, admission.Update}, Groups: []string{""}, Versions: []string{"*"},
				Resources: []string{"namespaces", "secrets", "configmaps"},
			},
			Validate: s.refuseDropped,
		})
	}
	s.dropped[args.Name] = true
	return nil
}

// refuseDropped answers as API servers before 1.37 do, which do not find what is in a
// namespace that they do not find (kubernetes 140655).
func (s *State) refuseDropped(r *admission.Review) admission.Answer {
	if r.Resource.Resource == "namespaces" {
		delete(s.dropped, r.Name)
	}
	if !s.dropped[r.Namespace] {
		return admission.Answer{}
	}
	return admission.Answer{Denied: true, Status: apierrors.NewNotFound(corev1.Resource("namespaces"), r.Namespace).ErrStatus}
}

func compact(st *scenarios.Story, s *State, args CompactArgs) error {
	st.Tell("etcd", "is compacted every %s", args.Every.Std())
	for end := st.Engine().Elapsed() + args.For.Std(); st.Engine().Elapsed() < end; {
		s.world.Cluster.Store().ForgetHistory()
		if err := st.Sleep(args.Every.Std()); err != nil {
			return err
		}
	}
	return nil
}

func backUpStore(st *scenarios.Story, s *State, _ NoArgs) error {
	s.backup = s.world.Cluster.Store().Backup()
	st.Tell("etcd", "takes a snapshot, at revision %d", s.backup.Revision())
	return nil
}

// restorer writes what comes from a backup.
const restorer = "etcdutl"

func restoreStore(st *scenarios.Story, s *State, _ NoArgs) error {
	if s.backup == nil {
		return fmt.Errorf("a snapshot of etcd: %w", errNothing)
	}
	st.Tell("etcd", "brings back the snapshot of revision %d", s.backup.Revision())
	for _, n := range s.nodes {
		n.process.Stop()
	}
	s.history.writer, s.history.manager = restorer, restorer
	if err := s.world.Cluster.Store().Restore(s.backup); err != nil {
		return err
	}
	s.look()
	for _, n := range s.nodes {
		n.process.Start()
	}
	return st.Sleep(time.Second)
}
