package gossipkeys

import (
	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// Namespace is where the Secret lives.
const Namespace = "kube-system"

// Config is what a scenario may say about the system.
type Config struct {
	Keys        []KeyName       `yaml:"keys" doc:"Names of the keys in the Secret at the start, such as [K1]; a name may end in /16, /24 or /32 to choose its size in bytes. Without it there is no Secret."`
	Mode        gossipkeys.Mode `yaml:"mode" enum:"whole-list hard-swap" doc:"Whether agents install every key of the list or only the first."`
	Timing      string          `yaml:"timing" enum:"local lan" doc:"memberlist's timing: local is what the agent ships with."`
	Controllers int             `yaml:"controllers" form:"min=0,max=5" doc:"Replicas of the controller."`
	Rotator     bool            `yaml:"rotator" doc:"Run the Rotator in the controllers."`
	Unselective bool            `yaml:"unselective" doc:"Let agents watch all Secrets of the namespace, which their permissions do not allow."`

	ApplyLag *scenarios.Span `yaml:"applyLag" doc:"How long a node takes from learning a list to acting on it, such as 0s..30s; at once by default."`

	AcceptPlaintext bool `yaml:"acceptPlaintext" doc:"Agents accept gossip that is not encrypted."`
	SendPlaintext   bool `yaml:"sendPlaintext" doc:"Agents do not encrypt what they send."`
}

func defaults() Config {
	return Config{Mode: gossipkeys.WholeList, Timing: "local", Controllers: 1, Rotator: true}
}
