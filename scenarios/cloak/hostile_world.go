package cloak

import (
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/hostile"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// harms are all that may go wrong.
var harms = []hostile.Harm[*hostility]{
	hostile.Of("secret-rotated", 8, harmRotated),
	hostile.Of("secret-moved", 6, harmMoved),
	hostile.Of("secret-unreadable", 3, harmUnreadable),
	hostile.Of("secret-disabled", 3, harmDisabled),
	hostile.Of("secret-deleted", 3, harmDeleted),
	hostile.Of("shadow", 5, harmShadow),
	hostile.Of("shadow-squatted", 2, harmSquatted),
	hostile.Of("pod", 10, harmPod),
	hostile.Of("container", 5, harmContainer),
	hostile.Of("runtime-hangs-up", 4, harmHangUp),
	hostile.Of("runtime-without-nri", 2, harmWithoutNRI),
	hostile.Of("process", 8, harmProcess),
	hostile.Of("agent-frozen", 4, harmFrozen),
	hostile.Of("node-lost", 3, harmNodeLost),
	hostile.Of("api", 6, harmAPI),
	hostile.Of("api-down", 3, harmAPIDown),
	hostile.Of("network-cut", 4, harmCut),
	hostile.Of("dns", 5, harmDNS),
	hostile.Of("webhook-down", 3, harmWebhook),
	hostile.Of("plane", 6, harmPlane),
	hostile.Of("clock", 2, harmClock),
}

// harmPod ends a workload's Pod, and lets it run again some time later.
func harmPod(h *hostility) (string, error) {
	w := h.work
	if !w.wanted {
		return "", nil
	}
	w.wanted = false
	d := h.between(0, time.Minute)
	h.later(d, func() { w.wanted = true })
	return fmt.Sprintf("workload %s is not to run for %v", w.config.Name, d), nil
}

// harmContainer ends the container of a Pod; another takes its place.
func harmContainer(h *hostility) (string, error) {
	w := h.work
	if w.run == nil {
		return "", nil
	}
	w.ended = true
	w.node.enqueue(w)
	return "the container of " + w.config.Name + " ends", nil
}

func harmHangUp(h *hostility) (string, error) {
	h.node.runtime.HangUp()
	return "the runtime of " + h.node.name + " closes the connection of its plugin", nil
}

func harmWithoutNRI(h *hostility) (string, error) {
	n, d := h.node, h.between(time.Second, 2*time.Minute)
	n.runtime.SetServed(false)
	h.later(d, func() { n.runtime.SetServed(h.config.NRI) })
	return fmt.Sprintf("the runtime of %s serves no NRI for %v", n.name, d), nil
}

// harmProcess kills an agent or a runtime.
func harmProcess(h *hostility) (string, error) {
	name, d := h.node.name+"/"+pick(h.draw, []string{"agent", "agent", "runtime"}), h.between(time.Second, time.Minute)
	p := h.world.Cluster.Process(name)
	if !p.Alive() {
		return "", nil
	}
	p.Restart(d)
	h.lasts(d)
	return fmt.Sprintf("%s is killed, and starts again after %v", name, d), nil
}

func harmFrozen(h *hostility) (string, error) {
	name, d := h.node.name+"/agent", h.between(100*time.Millisecond, 10*time.Second)
	h.world.Cluster.Process(name).Pause(d)
	h.lasts(d)
	return fmt.Sprintf("%s gets no processor for %v", name, d), nil
}

func harmNodeLost(h *hostility) (string, error) {
	d := h.between(time.Second, time.Minute)
	h.world.Cluster.Node(h.node.name).Restart(d)
	h.lasts(d)
	return fmt.Sprintf("%s is without power for %v", h.node.name, d), nil
}

func harmAPI(h *hostility) (string, error) {
	kind := pick(h.draw, []string{
		"api-error-409", "api-error-429", "api-error-500", "api-error-timeout", "api-latency", "api-loss-request", "api-loss-response",
		"watch-disconnect", "watch-lag", "watch-stale", "process-crash", "process-stall",
	})
	d := h.between(time.Second, 2*time.Minute)
	f := cluster.Fault{Kind: kind, Rate: engine.Prob(20_000 + 20_000*h.draw.Intn(20))}
	if kind == "process-crash" {
		f.Rate /= 20
	}
	h.later(d, h.world.Cluster.StartFault(f))
	return fmt.Sprintf("the API has trouble for %v: %s", d, kind), nil
}

func harmAPIDown(h *hostility) (string, error) {
	d := h.between(time.Second, 90*time.Second)
	for _, i := range h.world.Cluster.Instances() {
		if !i.Down() {
			i.Restart(d)
		}
	}
	h.lasts(d)
	return fmt.Sprintf("all API servers are down for %v", d), nil
}

// harmCut parts a node from the control plane, in one direction or both.
func harmCut(h *hostility) (string, error) {
	c, d := h.world.Cluster, h.between(time.Second, 3*time.Minute)
	n, control := c.Node(h.node.name), c.ControlPlane()
	switch h.draw.Intn(3) {
	case 0:
		h.later(d, c.Cut(n, control))
	case 1:
		h.later(d, c.Cut(control, n))
	default:
		h.later(d, c.Partition([]*cluster.Node{n}, []*cluster.Node{control}))
	}
	return fmt.Sprintf("%s is cut off from the control plane for %v", n.Name(), d), nil
}

func harmDNS(h *hostility) (string, error) {
	d := h.between(time.Second, 2*time.Minute)
	if h.oneIn(3) {
		h.names.nameless = true
		h.later(d, func() { h.names.nameless = false })
		return fmt.Sprintf("no DNS server answers for %v", d), nil
	}
	h.names.rogue = true
	h.later(d, func() { h.names.rogue = h.config.Rogue })
	return fmt.Sprintf("a DNS server that nobody trusts answers too, for %v", d), nil
}

func harmWebhook(h *hostility) (string, error) {
	d := h.between(time.Second, time.Minute)
	if h.oneIn(2) {
		h.webhookBlind = true
		h.later(d, func() { h.webhookBlind = false })
		return fmt.Sprintf("the webhook cannot always read, for %v", d), nil
	}
	h.webhookDown = true
	h.later(d, func() { h.webhookDown = false })
	return fmt.Sprintf("the webhook is down for %v", d), nil
}

// harmPlane makes calls of a data plane slow, or fail before or after they had an effect.
func harmPlane(h *hostility) (string, error) {
	n, d := h.node, h.between(time.Second, time.Minute)
	switch h.draw.Intn(3) {
	case 0:
		n.plane = &scenarios.Span{Max: 4 * time.Second}
		h.later(d, func() { n.plane = h.config.Plane })
		return fmt.Sprintf("calls of the data plane of %s take up to 4 s, for %v", n.name, d), nil
	case 1:
		n.refuses = true
		h.later(d, func() { n.refuses = false })
		return fmt.Sprintf("calls of the data plane of %s fail now and then, for %v", n.name, d), nil
	default:
		n.forgets = true
		h.later(d, func() { n.forgets = false })
		return fmt.Sprintf("calls of the data plane of %s seem to fail now and then, for %v", n.name, d), nil
	}
}

func harmClock(h *hostility) (string, error) {
	step := pick(h.draw, []time.Duration{0, time.Second, 5 * time.Minute, 24 * time.Hour})
	if h.oneIn(2) {
		step = -step
	}
	h.world.Cluster.Node(h.node.name).SetClock(step, 0)
	return fmt.Sprintf("the wall clock of %s is off by %v", h.node.name, step), nil
}
