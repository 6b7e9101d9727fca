package home

import (
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/hostile"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// HostileArgs say for how long the world is hostile.
type HostileArgs struct {
	For   scenarios.Duration `yaml:"for" form:"required,short" doc:"How long."`
	Every scenarios.Span     `yaml:"every" doc:"The time between two things that go wrong; 5s..4m by default."`
	Only  []string           `yaml:"only" doc:"The things that go wrong, if not all."`
}

// world is what harms work on.
type world struct {
	*State
	draw  *engine.Stream
	slot  *slot         // one of them
	until time.Duration // when the last harm ends that ends by itself
}

// between draws a duration.
func (w *world) between(low, high time.Duration) time.Duration {
	return w.draw.Duration(engine.Dist{Min: low, Max: high})
}

// later ends a harm.
func (w *world) later(d time.Duration, do func()) {
	w.lasts(d)
	w.world.Engine().After(d, func(any) { do() }, nil)
}

// lasts notes a harm that ends by itself.
func (w *world) lasts(d time.Duration) { w.until = max(w.until, w.world.Engine().Elapsed()+d) }

var harms = []hostile.Harm[*world]{
	hostile.Of("api-down", 5, harmServerDown),
	hostile.Of("api-errors", 4, harmAPIErrors),
	hostile.Of("api-slow", 2, harmAPISlow),
	hostile.Of("api-cut", 4, harmCut),
	hostile.Of("flap", 4, harmFlap),
	hostile.Of("clock", 4, harmClock),
	hostile.Of("pod-replaced", 3, harmReplaced),
	hostile.Of("pod-replaced-by-force", 3, harmReplacedByForce),
	hostile.Of("claims", 4, harmClaims),
	hostile.Of("serve", 3, harmServe),
	hostile.Of("issuer", 6, harmIssuer),
	hostile.Of("issuer-key", 2, harmIssuerKey),
	hostile.Of("disk-full", 4, harmDiskFull),
	hostile.Of("disk-error", 3, harmDiskError),
	hostile.Of("node-crash", 2, harmNodeCrash),
	hostile.Of("container", 4, harmContainer),
	hostile.Of("files", 4, harmFiles),
	hostile.Of("override", 2, harmOverride),
}

// beHostile does harm for a while, and then makes everything well again.
func beHostile(st *scenarios.Story, s *State, args HostileArgs) error {
	every := args.Every
	if every.Max == 0 {
		every = span(5*time.Second, 4*time.Minute)
	}
	w := &world{State: s, draw: st.Engine().Stream("story", "harm")}
	err := hostile.Do(st, hostile.Time{For: args.For.Std(), Every: every}, harms, args.Only, w.draw, func() *world {
		w.slot = s.slots[w.draw.Intn(len(s.slots))]
		return w
	})
	if err != nil {
		return err
	}
	s.makeWell()
	if left := w.until - st.Engine().Elapsed(); left > 0 {
		// Whoever says that nothing goes wrong any more must not say so before it is true.
		if err := st.Sleep(left); err != nil {
			return err
		}
	}
	st.Tell("world", "the world is well again")
	return nil
}

// makeWell ends what does not end by itself.
func (s *State) makeWell() {
	s.controller.behave(IssuerArgs{})
	s.served = "v1"
	for _, n := range s.world.Cluster.Nodes() {
		n.SetClock(0, 0)
	}
	for _, sl := range s.slots {
		sl.flaps, sl.ambush, sl.surprise = nil, nil, nil
		if l := sl.running(); l != nil && l.paused {
			l.override(true)
		}
	}
	for _, l := range s.lives {
		l.crashAt = 0
	}
}

// harmServerDown takes all API servers down, for a time around the stale TTL.
func harmServerDown(w *world) (string, error) {
	d := w.between(time.Second, 90*time.Second)
	for _, i := range w.world.Cluster.Instances() {
		if i.Down() {
			return "", nil
		}
		i.Restart(d)
	}
	w.lasts(d)
	return fmt.Sprintf("the API is down for %v", d), nil
}

// fault switches a fault of the cluster on for a while.
func (w *world) fault(f cluster.Fault, d time.Duration) {
	w.later(d, w.world.Cluster.StartFault(f))
}

func harmAPIErrors(w *world) (string, error) {
	kinds := []string{"api-error-429", "api-error-500", "api-error-timeout", "api-error-409", "process-crash"}
	kind, d := kinds[w.draw.Intn(len(kinds))], w.between(time.Second, 2*time.Minute)
	f := cluster.Fault{Kind: kind, Rate: engine.Prob(50_000 + 10_000*w.draw.Intn(90))}
	if kind == "process-crash" {
		f.Rate /= 10
	}
	w.fault(f, d)
	return fmt.Sprintf("the API has trouble for %v: %s", d, kind), nil
}

func harmAPISlow(w *world) (string, error) {
	d := w.between(time.Second, 2*time.Minute)
	w.fault(cluster.Fault{Kind: "api-latency", Rate: 500_000, Span: engine.Dist{Min: time.Second, Max: 40 * time.Second}}, d)
	return fmt.Sprintf("the API is slow for %v", d), nil
}

// harmCut parts a node from the control plane, in one direction or both.
func harmCut(w *world) (string, error) {
	c, d := w.world.Cluster, w.between(time.Second, 3*time.Minute)
	node, control := c.Node(w.slot.node), c.ControlPlane()
	switch w.draw.Intn(3) {
	case 0:
		w.later(d, c.Cut(node, control))
	case 1:
		w.later(d, c.Cut(control, node))
	default:
		w.later(d, c.Partition([]*cluster.Node{node}, []*cluster.Node{control}))
	}
	return fmt.Sprintf("%s is cut off from the control plane for %v", w.slot.node, d), nil
}

func harmFlap(w *world) (string, error) {
	f := flap{path: w.draw.Intn(2) == 0, times: 1 + w.draw.Intn(3)}
	w.slot.flaps = append(w.slot.flaps, f)
	return fmt.Sprintf("the API answers 404 for %s, %d times", w.slot.name, f.times), nil
}

func harmClock(w *world) (string, error) {
	steps := []time.Duration{0, time.Second, 31 * time.Second, 5 * time.Minute, time.Hour, 24 * time.Hour}
	step := steps[w.draw.Intn(len(steps))]
	if w.draw.Intn(2) == 0 {
		step = -step
	}
	w.world.Cluster.Node(w.slot.node).SetClock(step, 0)
	return fmt.Sprintf("the wall clock of %s is off by %v", w.slot.node, step), nil
}

func harmReplaced(w *world) (string, error) {
	return "Pod " + w.slot.name + " is replaced", w.replacePod(w.slot, false)
}

func harmReplacedByForce(w *world) (string, error) {
	return "Pod " + w.slot.name + " is replaced by force", w.replacePod(w.slot, true)
}

func harmClaims(w *world) (string, error) {
	switch w.draw.Intn(3) {
	case 0:
		return "the claims of " + w.slot.name + " are deleted", w.devices.delete(w.State, w.slot)
	case 1:
		return "the claims of " + w.slot.name + " are released", w.devices.release(w.State, w.slot, nil)
	default:
		return "the claims of " + w.slot.name + " go at once", w.goneClaims()
	}
}

func (w *world) goneClaims() error {
	if err := w.devices.delete(w.State, w.slot); err != nil {
		return err
	}
	return w.devices.release(w.State, w.slot, nil)
}

func harmServe(w *world) (string, error) {
	versions := []string{"", "v1", "v1", "v1beta2", "v1beta1"}
	w.served = versions[w.draw.Intn(len(versions))]
	return fmt.Sprintf("resource.k8s.io is served as %q", w.served), nil
}

func harmIssuer(w *world) (string, error) {
	ways := []IssuerArgs{
		{}, {}, {Status: 401}, {Status: 403}, {Status: 503}, {Status: 503, RetryAfter: "3600"}, {Status: 429, RetryAfter: "0"}, {Status: 307},
		{Down: true}, {Silent: true}, {Latency: span(0, 20*time.Second)}, {Grant: "garbage"}, {Grant: "truncated"}, {Grant: "too-large"},
		{Grant: "other-pod"}, {Grant: "other-key"}, {Grant: "expired"}, {Grant: "never-expires"}, {Keys: 500},
	}
	way := ways[w.draw.Intn(len(ways))]
	w.controller.behave(way)
	return fmt.Sprintf("the issuer behaves like this: %+v", way), nil
}

func harmIssuerKey(w *world) (string, error) {
	w.controller.issuer.RotateKey()
	return "the issuer signs with a new key", nil
}

func harmDiskFull(w *world) (string, error) {
	disk, d := w.world.Cluster.Node(w.slot.node).Disk(), w.between(10*time.Second, 20*time.Minute)
	o := disk.Options()
	if o.Capacity > 0 {
		return "", nil
	}
	room := int64(w.draw.Intn(1200))
	o.Capacity = max(1, disk.Used()+room)
	disk.SetOptions(o)
	w.later(d, func() {
		o := disk.Options()
		o.Capacity = 0
		disk.SetOptions(o)
	})
	return fmt.Sprintf("the disk of %s has room for %d bytes, for %v", w.slot.node, room, d), nil
}

func harmDiskError(w *world) (string, error) {
	d := w.between(10*time.Second, 10*time.Minute)
	w.fault(cluster.Fault{Kind: "disk-error", Target: w.slot.node, Rate: engine.Prob(100_000 + 100_000*w.draw.Intn(10))}, d)
	return fmt.Sprintf("the disk of %s has errors for %v", w.slot.node, d), nil
}

func harmNodeCrash(w *world) (string, error) {
	d := w.between(time.Second, 2*time.Minute)
	w.world.Cluster.Node(w.slot.node).Restart(d)
	w.lasts(d)
	return fmt.Sprintf("%s is down for %v", w.slot.node, d), nil
}

// harmContainer kills a container, at any moment of the near future: also between two
// writes.
func harmContainer(w *world) (string, error) {
	l := w.slot.running()
	if l == nil {
		return "", nil
	}
	process := w.world.Cluster.Process(l.env.Process)
	if w.draw.Intn(2) == 0 {
		l.crashAt = 1 + w.draw.Intn(6)
		return fmt.Sprintf("the container of %s will crash at change %d of its files", w.slot.name, l.crashAt), nil
	}
	process.Crash()
	return "the container of " + w.slot.name + " crashes", nil
}

func harmFiles(w *world) (string, error) {
	v := w.slot.pod.volumes
	if v == nil || v.gone {
		return "", nil
	}
	switch w.draw.Intn(3) {
	case 0:
		return "somebody removes the grant of " + w.slot.name, remove(w.slot.pod, grantName)
	case 1:
		return "somebody removes another grant of " + w.slot.name, remove(w.slot.pod, "extra.jwt")
	default:
		return "somebody drops another grant for " + w.slot.name, w.drop(w.slot, "extra.jwt")
	}
}

func harmOverride(w *world) (string, error) {
	l := w.slot.running()
	if l == nil {
		return "", nil
	}
	l.override(l.paused)
	return fmt.Sprintf("the home of %s is told that the control plane is reachable: %t", w.slot.name, !l.paused), nil
}
