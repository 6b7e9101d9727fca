package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

func startFaultStep(st *Story, args StartFaultArgs) error {
	st.Tell(args.Name, "switches on the fault %s", args.Name)
	st.stops[args.Name] = append(st.stops[args.Name], st.StartFault(FaultUse(args).fault()))
	return nil
}

func stopFaultStep(st *Story, args StopFaultArgs) error {
	name := string(args.Fault)
	if len(st.stops[name]) == 0 {
		return fmt.Errorf("no step has switched on the fault %s", name)
	}
	st.Tell(name, "switches off the fault %s", name)
	callAll(st.stops[name])
	st.stops[name] = nil
	return nil
}

// Times that nobody gave.
const (
	nodeDownTime   = 10 * time.Second
	serverDownTime = 5 * time.Second
)

// target is what a step acts on: exactly one field is set.
type target struct {
	name    string
	node    *cluster.Node
	process *cluster.Process
	server  *cluster.Instance
}

func (st *Story) target(name TargetName) (target, error) {
	if name == AnyNode {
		name = TargetName(st.Node(AnyNode))
	}
	t := target{name: string(name)}
	if t.node = st.Cluster.Node(t.name); t.node != nil {
		return t, nil
	}
	if t.process = st.Cluster.Process(t.name); t.process != nil {
		return t, nil
	}
	for _, server := range st.Cluster.Instances() {
		if server.Name() == t.name {
			t.server = server
			return t, nil
		}
	}
	return t, fmt.Errorf("no node, process or API server is named %q", name)
}

// processes are the processes that the target stands for.
func (t target) processes() []*cluster.Process {
	switch {
	case t.node != nil:
		return t.node.Processes()
	case t.process != nil:
		return []*cluster.Process{t.process}
	}
	return nil
}

func crashStep(st *Story, args CrashArgs) error {
	t, err := st.target(args.Target)
	if err != nil {
		return err
	}
	st.Tell(t.name, "crashes %s", t.name)
	down := func(unless time.Duration) time.Duration {
		if args.DownFor == nil {
			return unless
		}
		return st.DrawSpan("down", *args.DownFor)
	}
	switch {
	case t.node != nil:
		t.node.Restart(down(nodeDownTime))
	case t.server != nil:
		t.server.Restart(down(serverDownTime))
	case args.DownFor == nil:
		t.process.Crash()
	default:
		t.process.Restart(down(0))
	}
	return nil
}

func restartStep(st *Story, args TargetArgs) error {
	t, err := st.target(args.Target)
	if err != nil {
		return err
	}
	st.Tell(t.name, "restarts %s", t.name)
	switch {
	case t.node != nil:
		t.node.Restart(0)
	case t.server != nil:
		t.server.Restart(0)
	default:
		t.process.Restart(0)
	}
	return nil
}

func stopStep(st *Story, args TargetArgs) error {
	t, err := st.target(args.Target)
	if err != nil {
		return err
	}
	st.Tell(t.name, "stops %s", t.name)
	switch {
	case t.node != nil:
		t.node.Crash()
	case t.server != nil:
		t.server.Stop()
	default:
		t.process.Stop()
	}
	return nil
}

func startStep(st *Story, args TargetArgs) error {
	t, err := st.target(args.Target)
	if err != nil {
		return err
	}
	st.Tell(t.name, "starts %s", t.name)
	switch {
	case t.node != nil:
		t.node.Start()
	case t.server != nil:
		t.server.Start()
	default:
		t.process.Start()
	}
	return nil
}

func pauseStep(st *Story, args PauseArgs) error {
	t, err := st.target(args.Target)
	if err != nil {
		return err
	}
	var release []func()
	for _, p := range t.processes() {
		release = append(release, p.Hold())
	}
	goOn := func() { callAll(release) }
	if args.For == nil {
		st.Tell(t.name, "freezes %s until it is resumed", t.name)
		st.frozen[t.name] = append(st.frozen[t.name], goOn)
		return nil
	}
	d := st.DrawSpan("pause", *args.For)
	st.Tell(t.name, "freezes %s for %s", t.name, shortDuration(d))
	st.Engine().After(d, func(any) { goOn() }, nil)
	return nil
}

func callAll(all []func()) {
	for _, f := range all {
		f()
	}
}

func resumeStep(st *Story, args TargetArgs) error {
	t, err := st.target(args.Target)
	if err != nil {
		return err
	}
	if len(st.frozen[t.name]) == 0 {
		return fmt.Errorf("no step without for has paused %s", t.name)
	}
	st.Tell(t.name, "lets %s go on", t.name)
	callAll(st.frozen[t.name])
	st.frozen[t.name] = nil
	return nil
}

func partitionStep(st *Story, args PartitionArgs) error {
	from, to := map[string]bool{}, map[string]bool{}
	for _, name := range args.From {
		from[string(name)] = true
	}
	for _, name := range args.To {
		to[string(name)] = true
	}
	machines := append([]*cluster.Node{st.Cluster.ControlPlane()}, st.Cluster.Nodes()...)
	var heals []func()
	for _, a := range machines {
		for _, b := range machines {
			if a == b || !from[a.Name()] || len(to) > 0 && !to[b.Name()] || len(to) == 0 && from[b.Name()] {
				continue
			}
			heals = append(heals, st.Cut(a, b))
			if !args.OneWay {
				heals = append(heals, st.Cut(b, a))
			}
		}
	}
	heal := func() { callAll(heals) }
	st.heals = append(st.heals, heal)
	others := "everything else"
	if len(args.To) > 0 {
		others = joinNames(args.To)
	}
	way := "between"
	if args.OneWay {
		way = "one way, between"
	}
	st.Tell(joinNames(args.From), "cuts the network %s %s and %s", way, joinNames(args.From), others)
	if args.For != nil {
		st.Engine().After(st.DrawSpan("partition", *args.For), func(any) { heal() }, nil)
	}
	return nil
}

func healStep(st *Story, _ HealArgs) error {
	st.Tell("network", "mends the network")
	callAll(st.heals)
	st.heals = nil
	return nil
}

// clock is what steps have made of the wall clock of a node.
type clock struct {
	offset time.Duration
	drift  int64 // parts per million
}

// clockStep moves the clock from where earlier steps have left it, or changes its
// drift, and leaves alone what it does not name.
func clockStep(st *Story, args ClockArgs) error {
	node := st.Cluster.Node(st.Node(args.Node))
	c := st.clocks[node.Name()]
	var changes []string
	if args.Step != nil {
		c.offset += time.Duration(*args.Step)
		text := "moves by " + args.Step.String()
		if c.offset != time.Duration(*args.Step) {
			text += ", to be off by " + Offset(c.offset).String()
		}
		changes = append(changes, text)
	}
	if args.Drift != nil {
		c.drift = int64(*args.Drift)
		changes = append(changes, "drifts by "+args.Drift.String()+" from now on")
	}
	if st.clocks == nil {
		st.clocks = map[string]clock{}
	}
	st.clocks[node.Name()] = c
	st.Tell(node.Name(), "the clock of %s %s", node.Name(), strings.Join(changes, " and "))
	node.SetClock(c.offset, c.drift)
	return nil
}

func joinNames[T ~string](names []T) string {
	text := ""
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += string(name)
	}
	return text
}
