package scenarios

import (
	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// APIVersion and Kind open every scenario file.
const (
	APIVersion = "seedbed.dev/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is one scenario file: a cluster, what runs on it, the story that is
// told, the trouble in the background, and what must hold meanwhile.
type Scenario struct {
	APIVersion string        `yaml:"apiVersion" form:"required" enum:"seedbed.dev/v1alpha1" doc:"The version of the format."`
	Kind       string        `yaml:"kind" form:"required" enum:"Scenario" doc:"Always Scenario."`
	Metadata   Metadata      `yaml:"metadata" form:"required" doc:"What the scenario is called and what it shows."`
	Cluster    Cluster       `yaml:"cluster" doc:"The shape of the simulated cluster."`
	Given      Manifests     `yaml:"given" doc:"Objects that exist before any system starts."`
	Systems    []SystemUse   `yaml:"systems" form:"required" doc:"What runs on the cluster, each with its configuration."`
	Faults     Faults        `yaml:"faults" doc:"Trouble in the background. Without it the cluster has latency but no faults."`
	Steps      []Step        `yaml:"steps" doc:"The story: what happens, in order. Background faults and the systems act at the same time."`
	Properties []PropertyUse `yaml:"properties" form:"required" doc:"What must hold: names from the library, or conditions in CEL."`
	Explore    Explore       `yaml:"explore" doc:"How much of the space of histories is tried by default."`
	Expect     Expect        `yaml:"expect" doc:"What a run of this scenario shows: pass, or the violation of one property."`
}

// Metadata names a scenario.
type Metadata struct {
	Name        string `yaml:"name" form:"required" doc:"Lower-case words joined by dashes; unique among the files run together."`
	Description string `yaml:"description" form:"required" doc:"What the scenario shows and why it matters, for a reader who knows neither the system nor Seedbed."`
}

// Faults is the trouble that goes on in the background of the story. Single
// faults at a chosen moment are steps: startFault and stopFault.
type Faults struct {
	Profile string      `yaml:"profile" doc:"A preset mix of faults that the entries below add to or take from."`
	Add     []FaultUse  `yaml:"add" doc:"Further faults, each a name with its knobs."`
	Remove  []FaultName `yaml:"remove" doc:"Faults of the profile that do not occur."`
	Until   *Duration   `yaml:"until" doc:"When background faults cease, counted from the start of the run; by default they cease when the last step is done. Liveness is judged from then on."`
	Core    *bool       `yaml:"core" doc:"Whether faults cease for a random core of the cluster first, more than half of the nodes and at least one API server, and for the rest only when the core has converged; true by default, where a system can tell when that is so."`
}

// Explore says how much is tried when nobody asks for more or less.
type Explore struct {
	Seeds   int      `yaml:"seeds" form:"min=1,max=1000000" doc:"Number of different histories to run; 20 by default."`
	Horizon Duration `yaml:"horizon" doc:"Virtual time after which a run ends; 10m by default."`
}

// Expect is what a scenario is written to show. The zero value means that all
// properties hold in every run.
type Expect struct {
	// Violates names the property that at least one of the seeds run must
	// violate; empty for a scenario that passes. No other property may be
	// violated in either case.
	Violates string
	Place    form.Place
}

// PropertyUse is one entry of a scenario's properties: either names from the
// library, or a condition of the scenario's own.
type PropertyUse struct {
	Library PropertyPattern `yaml:"library" form:"short" doc:"A property of the library; gossipkeys.* means all of that system."`
	Except  []PropertyName  `yaml:"except" doc:"With library: the properties among those named that are not wanted here."`

	Name       string    `yaml:"name" doc:"The name of the scenario's own property: lower-case words joined by dashes."`
	Why        string    `yaml:"why" doc:"What it means when the property is violated; shown in the report."`
	Always     *Expr     `yaml:"always" doc:"CEL that must be true after every event."`
	Never      *Expr     `yaml:"never" doc:"CEL that must be false after every event."`
	Eventually *Expr     `yaml:"eventually" doc:"CEL that must become true once the story is told and faults have ceased."`
	Within     *Duration `yaml:"within" doc:"With eventually: the virtual time allowed, counted from when the last step is done and background faults have ceased."`

	Place form.Place
}

// Own reports whether the entry is a condition of the scenario's own.
func (p PropertyUse) Own() bool { return p.Always != nil || p.Never != nil || p.Eventually != nil }

// SystemUse is one entry of a scenario's systems.
type SystemUse struct {
	Name   string
	Config any // a pointer to the system's configuration struct
	Place  form.Place
}

// FaultUse is one fault with its knobs.
type FaultUse struct {
	Name  string
	Knobs FaultKnobs
	Place form.Place
}

// Step is one sentence of the story: an action, a note, or both.
type Step struct {
	Note  string     // told when the step begins
	Verb  string     // empty when the step is only a note
	Args  any        // a pointer to the verb's argument struct
	Place form.Place // of the whole step
}
