package encryption

import (
	"time"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// Names in the cluster.
const (
	Namespace  = "seedbed-encryption"        // of key Secrets, configurations and revisions
	References = "seedbed-encryption-config" // of what KMS plugins refer to
	Component  = "apiserver"

	appNamespace    = "app"
	serverNamespace = "kube-system"
)

// reloadMode lets API servers load a file by themselves.
const reloadMode = string(v1alpha1.AutomaticReload)

var managedName = config.Name(Component)

// Config is what a scenario may say about the system.
type Config struct {
	Resources []string       `yaml:"resources" doc:"What the policy encrypts, such as [secrets, configmaps]; resources of a group are written as deployments.apps."`
	Objects   int            `yaml:"objects" form:"min=0,max=1000000" doc:"How many objects of each resource users have at the start."`
	Writes    scenarios.Span `yaml:"writes" doc:"The time between two writes of users."`

	Fresh bool `yaml:"fresh" doc:"Users make new objects only, and leave them as they are."`

	Controllers int `yaml:"controllers" form:"min=1,max=5" doc:"Replicas of the controllers, of which one leads."`

	UpdatePlugins bool `yaml:"updatePlugins" doc:"Let changes of how a KMS plugin is run reach the plugins of the newest key, with no new key."`

	Aggregated bool `yaml:"aggregated" doc:"Whether there is an aggregated API server beside the others, which runs the same configuration and is brought up to date by somebody else."`

	Rollout string `yaml:"rollout" enum:"StaticPodRevision AutomaticReload" doc:"How revisions reach API servers: by a restart of each, one after the other, or by a file that each loads by itself."`

	HealthzExpires bool `yaml:"healthzExpires" doc:"Whether an API server stops to write with a KMS plugin that says it is not healthy and names the same key as before. Those of today go on (kubernetes issue 138950)."`

	Notice scenarios.Span `yaml:"notice" doc:"How long a kubelet takes to notice that the manifest of its API server has changed."`
	Drain  scenarios.Span `yaml:"drain" doc:"How long an API server that was asked to end goes on answering."`
	Boot   scenarios.Span `yaml:"boot" doc:"How long an API server takes to start."`
}

func defaults() Config {
	return Config{
		Resources: []string{"secrets"}, Objects: 12, Writes: span(5*time.Second, time.Minute), Controllers: 2, UpdatePlugins: true,
		Rollout: string(v1alpha1.StaticPodRevision),
		Notice:  span(0, 20*time.Second), Drain: span(0, 70*time.Second), Boot: span(5*time.Second, 20*time.Second),
	}
}

func span(from, to time.Duration) scenarios.Span { return scenarios.Span{Min: from, Max: to} }
