package cloak

import (
	"fmt"
	"slices"

	"github.com/seedbed-sim/seedbed/fakes/kernel"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// Namespace is where Secrets and workloads are.
const Namespace = "apps"

// Config is what a scenario may say about the system.
type Config struct {
	Secrets []SecretConfig `yaml:"secrets" doc:"Secrets that are protected from the start."`
	Pods    []PodConfig    `yaml:"pods" doc:"Workloads; each is one Pod that is made again until it runs."`

	NRI       bool               `yaml:"nri" doc:"Whether the container runtimes serve NRI."`
	OneServer bool               `yaml:"oneServer" doc:"All hosts have one address, as tenants of one content network do."`
	Plane     *scenarios.Span    `yaml:"plane" doc:"How long each call of the data plane takes, such as 0s..5s; no time by default."`
	Lingers   *scenarios.Span    `yaml:"lingers" doc:"How long the processes of a Pod that was deleted go on, such as 0s..10s; they end at once by default."`
	Rogue     bool               `yaml:"rogue" doc:"Besides the cluster's DNS server one that nobody trusts answers, and it answers first, at times with lies."`
	Forgers   bool               `yaml:"forgers" doc:"Somebody answers the queries of others, in the name of the cluster's DNS server, and guesses their numbers."`
	Balanced  bool               `yaml:"balanced" doc:"Services are balanced at the socket: queries go to the DNS server's Pods themselves, and so the answers come from there."`
	NodeLocal bool               `yaml:"nodeLocal" doc:"Pods ask a DNS server on their node, which is not among the trusted ones."`
	DNSTakes  *scenarios.Span    `yaml:"dnsTakes" doc:"How long an answer takes; no time by default."`
	Retention scenarios.Duration `yaml:"retention" doc:"For how long virtual IPs are retained, and then in quarantine; 1h by default."`
	Loss      int                `yaml:"loss" form:"min=0,max=90" doc:"How many segments of a hundred are lost; about 12 by default."`
	Every     *scenarios.Span    `yaml:"every" doc:"The time between two requests of a workload; 1s..5s by default."`
	Limits    LimitsConfig       `yaml:"limits" doc:"Sizes of the maps of the data plane, where they are not those of production."`
}

// LimitsConfig are sizes of maps; zero means that of production.
type LimitsConfig struct {
	Hosts   int `yaml:"hosts" form:"min=0,max=1024" doc:"Hosts with virtual IPs."`
	Entries int `yaml:"entries" form:"min=0,max=8192" doc:"Secrets."`
	Trusted int `yaml:"trusted" form:"min=0,max=64" doc:"DNS servers."`
	Cgroups int `yaml:"cgroups" form:"min=0,max=2048" doc:"Containers."`
}

// limits are those of the kernels.
func (c Config) limits() kernel.Limits {
	l := kernel.DefaultLimits
	for _, size := range []struct {
		want int
		is   *int
	}{{c.Limits.Entries, &l.Entries}, {c.Limits.Trusted, &l.Trusted}, {c.Limits.Cgroups, &l.Cgroups}} {
		if size.want > 0 {
			*size.is = size.want
		}
	}
	return l
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
	Name     string   `yaml:"name" form:"required" doc:"The Pod's name."`
	Uses     []string `yaml:"uses" doc:"Secrets that it refers to."`
	Steal    []string `yaml:"steal" doc:"Secrets whose placeholders it has learnt, and sends too."`
	Host     string   `yaml:"host" form:"required" doc:"The host that it sends to."`
	SNI      string   `yaml:"sni" doc:"The host that it names in the TLS handshake, if another."`
	Port     int      `yaml:"port" form:"min=0,max=65535" doc:"The port that it sends to; 443 by default."`
	Node     string   `yaml:"node" doc:"Its node; by default the nodes take turns."`
	Bad      bool     `yaml:"bad" doc:"It is an attacker, or cannot be helped: nothing that it sends needs to arrive."`
	Keep     bool     `yaml:"keep" doc:"It keeps its connection, and sends all its requests over it."`
	HTTP2    bool     `yaml:"http2" doc:"It speaks HTTP/2, whose headers are compressed; this goes with keep."`
	IPv6     bool     `yaml:"ipv6" doc:"It uses IPv6."`
	Static   bool     `yaml:"static" doc:"Its TLS code is linked into its program, as in Go, and in no library."`
	Plain    bool     `yaml:"plain" doc:"Its label says that it does not take part."`
	Address  string   `yaml:"address" doc:"The workload whose address it gets, once that runs no more."`
	Resolves string   `yaml:"resolves" enum:"each-time once tcp literal" doc:"How it comes by the address of its host: it asks each time, by default; once, and keeps it for ever; over TCP; or it knows the real one."`
	Refers   string   `yaml:"refers" enum:"env volume projected" doc:"Where it has its placeholders: in its environment, by default, or in a volume, which follows the Secret."`
	Manner   string   `yaml:"manner" enum:"usual exec debug pass longjmp tamper-text tamper-record memory-bio chacha serve pipeline lookalike unknown-code host-network" doc:"What is odd about how it sends: see scenarios/cloak/README.md."`
}

func defaults() Config { return Config{NRI: true} }

func checkConfig(c Config, shape scenarios.Cluster) error {
	var names, pods []string
	for _, s := range c.Secrets {
		names = append(names, s.Name)
	}
	for _, p := range c.Pods {
		pods = append(pods, p.Name)
	}
	for _, p := range c.Pods {
		for _, use := range slices.Concat(p.Uses, p.Steal) {
			if !slices.Contains(names, use) {
				return fmt.Errorf("pod %s refers to Secret %s, which is not among the secrets; write it there", p.Name, use)
			}
		}
		switch {
		case p.Node != "" && !slices.Contains(shape.NodeNames(), p.Node):
			return fmt.Errorf("pod %s is to run on %s; write one of %v", p.Name, p.Node, shape.NodeNames())
		case p.Address != "" && !slices.Contains(pods, p.Address):
			return fmt.Errorf("pod %s is to get the address of %s; write one of %v", p.Name, p.Address, pods)
		case p.HTTP2 && !p.Keep:
			return fmt.Errorf("pod %s speaks HTTP/2, and is to keep its connection: write keep: true", p.Name)
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
