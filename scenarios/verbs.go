package scenarios

// The arguments of the built-in steps, one struct per step, in the order in
// which `seedbed list steps` shows them.

// ObjectName addresses one API object.
type ObjectName struct {
	Kind      KindName `yaml:"kind" form:"required" doc:"The kind, such as Secret; version and kind, such as example.com/v1/Widget, for a custom resource."`
	Namespace string   `yaml:"namespace" doc:"The namespace; empty for kinds that live in none."`
	Name      string   `yaml:"name" form:"required" doc:"The object's name."`
}

// PatchArgs says how `patch` changes an object.
type PatchArgs struct {
	ObjectName
	Merge Content   `yaml:"merge" doc:"A JSON merge patch: fields to set; null removes a field."`
	JSON  []Content `yaml:"json" doc:"A JSON patch: a list of operations with op, path and value."`
}

// WaitArgs says what `wait` waits for.
type WaitArgs struct {
	For    Expr     `yaml:"for" form:"required" doc:"CEL over objects, nodes, processes and the systems' views."`
	Within Duration `yaml:"within" form:"required" doc:"The virtual time after which the story has failed."`
}

// AssertArgs is what `assert` demands.
type AssertArgs struct {
	That Expr `yaml:"that" form:"required,short" doc:"CEL that must be true at this moment of the story."`
}

// SleepArgs is how long `sleep` lasts.
type SleepArgs struct {
	For Span `yaml:"for" form:"required,short" doc:"Virtual time; a range such as 0s..30s is drawn by each run."`
}

// CrashArgs says what `crash` kills.
type CrashArgs struct {
	Target  TargetName `yaml:"target" form:"required,short" doc:"A process, an API server, or a node with all its processes."`
	DownFor *Span      `yaml:"downFor" doc:"How long it stays down; without it, processes are restarted after the usual back-off and nodes after some seconds."`
}

// TargetArgs names what a step acts on.
type TargetArgs struct {
	Target TargetName `yaml:"target" form:"required,short" doc:"A process, an API server, or a node with all its processes."`
}

// PauseArgs says what `pause` stops and for how long.
type PauseArgs struct {
	Target TargetName `yaml:"target" form:"required,short" doc:"A process, an API server, or a node with all its processes."`
	For    *Span      `yaml:"for" doc:"How long; without it until a resume step."`
}

// PartitionArgs says which links `partition` cuts.
type PartitionArgs struct {
	From   []PeerName `yaml:"from" form:"required" doc:"Machines on one side: nodes, or control-plane for API servers and controllers."`
	To     []PeerName `yaml:"to" doc:"The other side; by default everything that is not in from."`
	OneWay bool       `yaml:"oneWay" doc:"Cut only what is sent from the first side to the other."`
	For    *Span      `yaml:"for" doc:"How long; without it until a heal step."`
}

// HealArgs says which links `heal` mends.
type HealArgs struct {
	What string `yaml:"what" form:"short" enum:"all" doc:"Always all: every cut made by a partition step."`
}

// ClockArgs changes the wall clock of a node.
type ClockArgs struct {
	Node  NodeName `yaml:"node" form:"required" doc:"The node whose wall clock changes; sleeping and deadlines are not affected by step."`
	Step  *Offset  `yaml:"step" doc:"Moves the clock once by this much, such as +5s or -2m, from where earlier steps have left it."`
	Drift *Drift   `yaml:"drift" doc:"Lets the clock run faster or slower from now on, such as +200ppm; +0ppm lets it run true again."`
}

// StartFaultArgs is the fault that `startFault` switches on: as in faults.add, but
// it begins at once.
type StartFaultArgs FaultUse

// StopFaultArgs says which faults of earlier startFault steps end.
type StopFaultArgs struct {
	Fault FaultName `yaml:"fault" form:"required,short" doc:"The fault to end."`
}

// RepeatArgs tells some steps several times.
type RepeatArgs struct {
	Times int    `yaml:"times" form:"required,min=1,max=10000" doc:"How often."`
	Steps []Step `yaml:"steps" form:"required" doc:"The steps."`
}

// TogetherArgs tells several stories at once.
type TogetherArgs struct {
	Branches [][]Step `yaml:"branches" form:"required,short" doc:"Lists of steps; they run side by side, and the story goes on when all are done."`
}
