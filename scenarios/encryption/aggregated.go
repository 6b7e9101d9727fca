package encryption

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// An aggregated API server runs on the first node, for groups of its own, with the same
// keys as the others. Its operator is not ours: it brings the latest revision to it
// some time later.

const (
	aggregatedName   = "aggregated-apiserver"
	aggregatedPeriod = 20 * time.Second // between two looks of its operator
)

func aggregatedPods() labels.Selector {
	return labels.SelectorFromSet(labels.Set{"component": aggregatedName})
}

// union are all API servers that run the one configuration.
func (s *State) union(env *cluster.Env, servers encryption.Deployer) encryption.Deployer {
	if !s.config.Aggregated {
		return servers
	}
	return deployer.Union{servers, &deployer.StaticPods{
		Live: env.Kube, Namespace: serverNamespace, Selector: aggregatedPods(), ConfigNamespace: Namespace, Log: s.logOf(env),
		Nodes: func(context.Context) ([]string, error) { return []string{s.nodes[0].name}, nil },
	}}
}

// AggregatedArgs say what becomes of the aggregated API server.
type AggregatedArgs struct {
	Follows bool `yaml:"follows" form:"required,short" doc:"Whether its operator brings revisions to it."`
}

func setAggregated(st *scenarios.Story, s *State, args AggregatedArgs) error {
	if !s.config.Aggregated {
		return fmt.Errorf("an aggregated API server: %w; write aggregated: true under systems", errNothing)
	}
	st.Tell(aggregatedName, "follows what is rolled out: %v", args.Follows)
	s.aggregatedStays = !args.Follows
	return nil
}

// runAggregated is the main function of the operator of the aggregated API server.
func (s *State) runAggregated(ctx context.Context, env *cluster.Env) {
	for running := int64(-1); ; {
		policy := &v1alpha1.EncryptionPolicy{}
		err := env.Kube.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyName}, policy)
		if latest := policy.Status.LatestRevision; err == nil && !s.aggregatedStays && latest != running {
			if err = s.aggregate(ctx, env.Kube, latest); err == nil {
				running = latest
			}
		}
		if err != nil {
			env.Log.V(1).Info("The aggregated API server is not brought up to date", "why", err.Error())
		}
		if env.Clock.Sleep(ctx, aggregatedPeriod) != nil {
			return
		}
	}
}

// aggregate lets the aggregated API server run a revision.
func (s *State) aggregate(ctx context.Context, kube client.Client, revision int64) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: serverNamespace, Name: aggregatedName, Labels: map[string]string{"component": aggregatedName}},
		Spec:       corev1.PodSpec{NodeName: s.nodes[0].name, Containers: []corev1.Container{{Name: "server", Image: "example.com/aggregated"}}},
	}
	if revision > 0 {
		pod.Labels[deployer.RevisionLabel] = strconv.FormatInt(revision, 10)
	}
	if err := client.IgnoreNotFound(kube.Delete(ctx, pod, client.GracePeriodSeconds(0))); err != nil {
		return fmt.Errorf("delete Pod %s: %w", aggregatedName, err)
	}
	if err := kube.Create(ctx, pod); err != nil {
		return fmt.Errorf("create Pod %s: %w", aggregatedName, err)
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: s.now()}}
	if err := kube.Status().Update(ctx, pod); err != nil {
		return fmt.Errorf("update Pod %s: %w", aggregatedName, err)
	}
	return nil
}
