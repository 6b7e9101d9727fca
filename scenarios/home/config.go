package home

import (
	"errors"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// Namespace is where the grant Pods are.
const Namespace = "tenant"

// Config is what a scenario may say about the system.
type Config struct {
	Pods     int                `yaml:"pods" form:"min=1,max=5000" doc:"How many grant Pods there are, called grant-0, grant-1, …; each on the next node."`
	Poll     scenarios.Duration `yaml:"poll" doc:"How often the API server is asked; half of the stale TTL of 30s by default, which leaves no margin for a round that fails."`
	Lease    scenarios.Duration `yaml:"lease" doc:"How long grants are good for; 0s means for ever."`
	Build    scenarios.Span     `yaml:"build" doc:"How long a template takes to become warm."`
	Fetch    bool               `yaml:"fetch" doc:"Whether homes fetch their grants; otherwise they come as files only."`
	Family   home.Family        `yaml:"family" enum:"unix inet4 inet6" doc:"Which of the Pod's addresses callers dial."`
	Claims   string             `yaml:"claims" enum:"none named template" doc:"Whether Pods have a ResourceClaim: a named one, or one that is made for each Pod from a template."`
	Serve    string             `yaml:"serve" enum:"v1 v1beta2 v1beta1 v1alpha3 none" doc:"The version of resource.k8s.io that is served at the start."`
	Devices  []string           `yaml:"devices" doc:"Devices that Pods are given without a claim."`
	Handling scenarios.Span     `yaml:"handling" doc:"How long the agent takes over each loss of its scope, before it raises its epoch."`
	Drain    scenarios.Span     `yaml:"drain" doc:"How long an agent goes on after it was asked to end."`
	Grace    scenarios.Duration `yaml:"grace" doc:"The Pods' grace period, after which what has not ended is killed."`
	Token    scenarios.Duration `yaml:"token" doc:"How long the Pods' bound tokens are good for; the kubelet replaces them at four fifths of that."`
}

func defaults() Config {
	return Config{
		Pods: 3, Poll: scenarios.Duration(home.DefaultStaleTTL / 2), Lease: scenarios.Duration(10 * time.Minute),
		Build: span(time.Second, 10*time.Second), Fetch: true, Family: home.Unix, Claims: "none", Serve: "v1",
		Drain: span(2*time.Second, 2*time.Second), Grace: scenarios.Duration(time.Minute), Token: scenarios.Duration(time.Hour),
	}
}

func span(low, high time.Duration) scenarios.Span { return scenarios.Span{Min: low, Max: high} }

func check(c Config, shape scenarios.Cluster) error {
	switch {
	case !shape.NodeObjects:
		return &scenarios.ClusterError{Field: "nodeObjects",
			Err: errors.New("grant Pods run on nodes that the API server knows; write nodeObjects: true under cluster")}
	case c.Poll.Std() <= 0 || c.Poll.Std() >= home.DefaultStaleTTL:
		return fmt.Errorf("poll is %v: it must be shorter than the stale TTL of %v", c.Poll.Std(), home.DefaultStaleTTL)
	case c.Token.Std() < tokenLeast:
		return fmt.Errorf("token is %v: no API server issues one for less than %v", c.Token.Std(), tokenLeast)
	}
	return nil
}

// tokenLeast is the shortest life of a bound token that can be asked for.
const tokenLeast = 10 * time.Minute

// processes names what build starts.
func processes(c Config, shape scenarios.Cluster) []string {
	nodes := shape.NodeNames()
	var names []string
	for i := range c.Pods {
		names = append(names, fmt.Sprintf("%s/%s", nodes[i%len(nodes)], podName(i)))
	}
	return names
}

func podName(i int) string { return fmt.Sprintf("grant-%d", i) }
