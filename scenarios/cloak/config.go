package cloak

import (
	"fmt"
	"slices"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// Namespace is where Secrets and workloads are.
const Namespace = "apps"

// Config is what a scenario may say about the system.
type Config struct {
	Secrets []SecretConfig `yaml:"secrets" doc:"Secrets that are protected from the start."`
	Pods    []PodConfig    `yaml:"pods" doc:"Workloads; each is one Pod that is made again until it runs."`

	NRI       bool            `yaml:"nri" doc:"Whether the container runtimes serve NRI."`
	OneServer bool            `yaml:"oneServer" doc:"All hosts have one address, as tenants of one content network do."`
	Plane     *scenarios.Span `yaml:"plane" doc:"How long each call of the data plane takes, such as 0s..5s; no time by default."`
	Lingers   *scenarios.Span `yaml:"lingers" doc:"How long the processes of a Pod that was deleted go on, such as 0s..10s; they end at once by default."`
	Rogue     bool            `yaml:"rogue" doc:"Besides the cluster's DNS server one that nobody trusts answers, and it answers first."`
}

// SecretConfig is a Secret with one key.
type SecretConfig struct {
	Name  string    `yaml:"name" form:"required" doc:"The Secret's name."`
	Value ValueName `yaml:"value" form:"required" doc:"Name of the value."`
	Hosts string    `yaml:"hosts" doc:"The annotation with the host it may go to; without it every host."`
	Port  string    `yaml:"port" doc:"The annotation with the port; without it every port."`
}

// PodConfig is a workload.
type PodConfig struct {
	Name  string   `yaml:"name" form:"required" doc:"The Pod's name."`
	Uses  []string `yaml:"uses" doc:"Secrets that it refers to."`
	Steal []string `yaml:"steal" doc:"Secrets whose placeholders it has learnt, and sends too."`
	Host  string   `yaml:"host" form:"required" doc:"The host that it sends to."`
	SNI   string   `yaml:"sni" doc:"The host that it names in the TLS handshake, if another."`
	Port  int      `yaml:"port" form:"min=0,max=65535" doc:"The port that it sends to; 443 by default."`
	Node  string   `yaml:"node" doc:"Its node; by default the nodes take turns."`
	Bad   bool     `yaml:"bad" doc:"It is an attacker: nothing that it sends needs to arrive."`
}

func defaults() Config { return Config{NRI: true} }

func check(c Config, shape scenarios.Cluster) error {
	var names []string
	for _, s := range c.Secrets {
		names = append(names, s.Name)
	}
	for _, p := range c.Pods {
		for _, use := range slices.Concat(p.Uses, p.Steal) {
			if !slices.Contains(names, use) {
				return fmt.Errorf("pod %s refers to Secret %s, which is not among the secrets; write it there", p.Name, use)
			}
		}
		if p.Node != "" && !slices.Contains(shape.NodeNames(), p.Node) {
			return fmt.Errorf("pod %s is to run on %s; write one of %v", p.Name, p.Node, shape.NodeNames())
		}
	}
	return nil
}

// processes names what build starts.
func processes(_ Config, shape scenarios.Cluster) (names []string) {
	for _, n := range shape.NodeNames() {
		names = append(names, n+"/agent", n+"/runtime")
	}
	return append(names, "workloads")
}
