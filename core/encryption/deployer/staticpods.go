package deployer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// RevisionLabel is the label of a Pod that has the revision of its configuration.
const RevisionLabel = "encryption.seedbed.dev/revision"

// StaticPods are API servers that kubelets run from files, each with the
// configuration of a revision. All fields are required but Log.
type StaticPods struct {
	// Live reads at the API server: what a cache shows may be over.
	Live kube.Reader

	// Namespace and Selector of the Pods.
	Namespace string
	Selector  labels.Selector

	// ConfigNamespace is that of the configurations of revisions.
	ConfigNamespace string

	// Nodes returns the names of the nodes that run an API server, or should.
	Nodes func(ctx context.Context) ([]string, error)

	Log logr.Logger
}

var (
	errPhase    = errors.New("the pod is in an unknown phase")
	errRevision = errors.New("the label " + RevisionLabel + " is no number")
	errNewer    = errors.New("a pod of a newer revision has ended; remove it, or repair what it ended of")
)

// DeployedEncryptionConfigSecret implements encryption.Deployer.
//
// Ours: a Pod that is being deleted still answers, so its revision counts as
// running; and a node has one Pod. No revision is without a configuration, so one
// that is not there was deleted, and API servers run it all the same.
func (s *StaticPods) DeployedEncryptionConfigSecret(ctx context.Context) (secret *corev1.Secret, converged bool, err error) {
	revision, why, err := s.revision(ctx)
	if err != nil {
		return nil, false, err
	}
	if why != "" {
		s.Log.V(1).Info("API servers differ in what they run", "reason", why)
		return nil, false, nil
	}
	secret = &corev1.Secret{}
	name := client.ObjectKey{Namespace: s.ConfigNamespace, Name: config.RevisionName(revision)}
	err = s.Live.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) && revision == 0 {
		return nil, true, nil
	}
	if apierrors.IsNotFound(err) {
		return nil, false, fmt.Errorf("get Secret %s: %w", name, encryption.ErrConfigGone)
	}
	if err != nil {
		return nil, false, fmt.Errorf("get Secret %s: %w", name, err)
	}
	return secret, true, nil
}

// revision returns the revision that all API servers run, or why there is none.
func (s *StaticPods) revision(ctx context.Context) (revision int64, why string, err error) {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return 0, "", fmt.Errorf("list the nodes of API servers: %w", err)
	}
	if len(nodes) == 0 {
		return 0, "no node is known that runs an API server", nil
	}
	pods := &corev1.PodList{}
	if err := s.Live.List(ctx, pods, client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: s.Selector}); err != nil {
		return 0, "", fmt.Errorf("list the Pods of API servers in %s: %w", s.Namespace, err)
	}
	seen, err := look(pods.Items)
	if err != nil || seen.why != "" {
		return 0, seen.why, err
	}
	for _, node := range nodes {
		if !slices.Contains(seen.nodes, node) {
			return 0, fmt.Sprintf("node %s has no API server that is ready", node), nil
		}
	}
	if revision, err = number(seen.label); err != nil {
		return 0, "", err
	}
	for _, pod := range seen.ended {
		theirs, err := number(pod.Labels[RevisionLabel])
		if err != nil {
			return 0, "", fmt.Errorf("pod %s: %w", client.ObjectKeyFromObject(pod), err)
		}
		if theirs > revision {
			return 0, "", fmt.Errorf("pod %s, of revision %d: %w", client.ObjectKeyFromObject(pod), theirs, errNewer)
		}
	}
	return revision, "", nil
}

// sight is what can be seen of Pods.
type sight struct {
	label string        // the revision of all that run
	nodes []string      // of those that run
	ended []*corev1.Pod // that run no more
	why   string        // they differ
}

func look(pods []corev1.Pod) (sight, error) {
	var s sight
	for i := range pods {
		pod := &pods[i]
		name := client.ObjectKeyFromObject(pod)
		switch phase := pod.Status.Phase; {
		case phase == corev1.PodFailed, phase == corev1.PodSucceeded:
			s.ended = append(s.ended, pod)
			continue
		case phase != corev1.PodPending && phase != corev1.PodRunning:
			return s, fmt.Errorf("pod %s: %w, %q", name, errPhase, phase)
		case pod.DeletionTimestamp != nil:
			return sight{why: fmt.Sprintf("pod %s is being deleted, and may still answer", name)}, nil
		case phase == corev1.PodPending, !ready(pod):
			return sight{why: fmt.Sprintf("pod %s is not ready", name)}, nil
		case slices.Contains(s.nodes, pod.Spec.NodeName):
			return sight{why: fmt.Sprintf("node %s runs two API servers", pod.Spec.NodeName)}, nil
		case len(s.nodes) > 0 && pod.Labels[RevisionLabel] != s.label:
			return sight{why: fmt.Sprintf("pod %s runs revision %q, and others %q", name, pod.Labels[RevisionLabel], s.label)}, nil
		}
		s.label = pod.Labels[RevisionLabel]
		s.nodes = append(s.nodes, pod.Spec.NodeName)
	}
	if len(s.nodes) == 0 {
		s.why = "no API server runs"
	}
	return s, nil
}

func ready(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// number returns the revision in a label. None is the revision before all others.
func number(label string) (int64, error) {
	if label == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(label, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%w: %q", errRevision, label)
	}
	return n, nil
}

// StartableConfigSecrets implements encryption.Deployer: those of all revisions that
// are stored, since a kubelet may go back to any.
func (s *StaticPods) StartableConfigSecrets(ctx context.Context) ([]*corev1.Secret, error) {
	return revisions(ctx, s.Live, s.ConfigNamespace)
}

// revisions returns the configurations of all revisions that are stored, the oldest
// first.
func revisions(ctx context.Context, live kube.Reader, namespace string) ([]*corev1.Secret, error) {
	list := &corev1.SecretList{}
	if err := live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list Secrets in %s: %w", namespace, err)
	}
	var secrets []*corev1.Secret
	for i := range list.Items {
		if _, ok := config.ParseRevision(list.Items[i].Name); ok {
			secrets = append(secrets, &list.Items[i])
		}
	}
	slices.SortFunc(secrets, func(a, b *corev1.Secret) int {
		x, _ := config.ParseRevision(a.Name)
		y, _ := config.ParseRevision(b.Name)
		return cmp.Compare(x, y)
	})
	return secrets, nil
}

// Watches implements encryption.Deployer.
func (s *StaticPods) Watches() []kube.Watch {
	return []kube.Watch{
		{Object: &corev1.Pod{}, Namespace: s.Namespace, Selector: s.Selector},
		{Object: &corev1.Secret{}, Namespace: s.ConfigNamespace},
	}
}
