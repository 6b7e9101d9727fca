package home

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// Names of the properties that observers find broken.
const (
	newAsksNothing      = "new-asks-nothing"
	newEndsInTime       = "new-ends-in-time"
	newMeansAGrant      = "new-means-a-grant"
	grantFileIsWhole    = "grant-file-is-whole"
	removedMeansGone    = "removed-means-gone"
	eachContentOnce     = "each-content-once"
	healthNeedsAnAnswer = "health-needs-an-answer"
	answersMeanHealth   = "answers-mean-health"
	lossesComeOnce      = "losses-come-once"
	lossesHaveEvidence  = "losses-have-evidence"
	roundsNeverWait     = "rounds-never-wait"
	readinessConverges  = "readiness-converges"
	ownPodOnly          = "own-pod-only"
	devicesAndAddress   = "devices-and-address-answer"
	scopeIsOwn          = "scope-is-own"
	runLeavesNothing    = "run-leaves-nothing"
	tokensStaySecret    = "tokens-stay-secret"
	overrideIsFinal     = "override-is-final"
	issuerIsSpared      = "issuer-is-spared"
)

// properties are the invariants of the specification, in its order.
func properties() []scenarios.Property {
	type check = scenarios.Check
	// settles is a property that observers find broken, and that must come true for
	// every home once all is calm.
	settles := func(name, meaning string, within time.Duration, look func(*life) error) scenarios.Property {
		return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) check {
			return check{
				Always: func() error { return s.breaches[name] },
				Within: within, Eventually: func() error { return s.settled(look) },
			}
		})
	}
	return []scenarios.Property{
		observed(newAsksNothing, "New asks nothing of the cluster, and without a token file makes no request and no file: an agent must start while the control plane is down."),
		observed(newEndsInTime, "New returns within the fetch timeout, or as soon as its context ends, with the cause: an agent that hangs at its start is restarted by nobody."),
		observed(newMeansAGrant, "When New succeeds an unexpired grant of this very Pod is in the directory: an agent that starts without one would be dead weight that looks alive."),
		observed(grantFileIsWhole, "Whoever reads the grants directory sees a whole grant or, before the first, none: half a grant or a gap is a revocation that kills what runs."),
		observed(removedMeansGone, "A grant is said to be removed only when no file carries it: the word of the lane denies it and ends its workers."),
		settles(eachContentOnce, "Each content of a file is added once, and sooner or later: an agent that misses a renewal lets its lease lapse, one that hears it twice builds twice.",
			time.Minute, (*life).hasHeard),
		observed(healthNeedsAnAnswer, "A home is healthy only while the API server answers for its own Pod: callers are sent elsewhere on its word, and elsewhere needs a control plane."),
		observed(answersMeanHealth, "While rounds find their Pod in time a home is healthy: else callers are told to wait though there is capacity."),
		settles(lossesComeOnce, "Each reason for a loss is reported, once, one at a time and only while Run runs: each report fences off everything that runs.",
			5*time.Minute, (*life).hasReported),
		observed(lossesHaveEvidence, "A loss is reported only when an answer of the API says so: silence and errors must never end work."),
		observed(roundsNeverWait, "Rounds follow each other in time whatever the handler of a loss, the issuer or the disk does: health would go stale for a reason that is not the control plane's."),
		settles(readinessConverges, "Patches of the condition alternate, and once all is calm it says what is so: traffic goes where it is True, and patches cost the API server.",
			time.Minute, (*life).isPublished),
		observed(ownPodOnly, "No home ever patches another Pod of the same name: it would send traffic to what is not ready."),
		observed(devicesAndAddress, "Asking for devices never fails and asking for the address ends in time: a failed admission is not tried again."),
		observed(scopeIsOwn, "The scope names the Pod from the start, and never holds a fact about another Pod: it is what audits go by."),
		observed(runLeavesNothing, "Once Run has returned the home does nothing any more: whoever ends it hands its files and its Pod to somebody else."),
		scenarios.NewProperty(tokensStaySecret, "The Pod's token goes to the controller only, and neither it nor a grant is ever logged: whoever has one can act as the Pod.",
			func(_ *scenarios.World, s *State) check {
				return check{Always: func() error { return s.breaches[tokensStaySecret] }, Finally: s.readable}
			}),
		observed(overrideIsFinal, "A home that was told that the control plane is unreachable stays unhealthy until it is told otherwise, whatever a round finds: tests build on it."),
		observed(issuerIsSpared, "A home that runs asks for its grant at most once a second, whatever it is answered: thousands of them must not bury a controller that recovers."),
	}
}

// settled looks at the homes that run, of Pods that are there.
func (s *State) settled(look func(*life) error) error {
	for _, l := range s.lives {
		if !l.watched() || l.ending || l.pod.gone {
			continue
		}
		if err := look(l); err != nil {
			return fmt.Errorf("%s: %w", l.env.Process, err)
		}
	}
	return nil
}

// hasHeard is true if the lane has told everything that is in the directory. A file
// that has just come may take a poll.
func (l *life) hasHeard() error {
	name := l.undelivered()
	if name == "" {
		l.lane.missed = 0
		return nil
	}
	now := l.now()
	if l.lane.missed == 0 || l.lane.missing != name {
		l.lane.missed, l.lane.missing = now, name
	}
	if now-l.lane.missed < 3*home.DefaultGrantsPoll {
		return nil
	}
	return fmt.Errorf("nobody was told what %s holds", name)
}

// hasReported is true if every loss that the API has told of was reported.
func (l *life) hasReported() error {
	for _, reason := range l.evidence.reasons {
		reported := l.handling
		for _, r := range l.losses {
			reported = reported || r == reason
		}
		if !reported && l.now()-l.evidence.latest > time.Minute {
			return fmt.Errorf("the API has said %q, and no loss was reported", reason)
		}
	}
	return nil
}

// isPublished is true if the condition of the Pod is what it should be, but for a
// round's time.
func (l *life) isPublished() error {
	p := l.state.last[l.pod.slot.name]
	if p == nil || string(p.UID) != l.pod.uid || p.DeletionTimestamp != nil {
		return nil
	}
	published := conditionOf(p) == string(corev1.ConditionTrue)
	if published == l.home.Ready() {
		l.differs = 0
		return nil
	}
	now := l.now()
	if l.differs == 0 {
		l.differs = now
	}
	if now-l.differs < 2*l.state.config.Poll.Std()+5*time.Second {
		return nil
	}
	return fmt.Errorf("the condition says %t, and that is not so", published)
}

// conditionOf is the status of the readiness condition, empty if there is none.
func conditionOf(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == home.PodConditionZygoteReady {
			return string(c.Status)
		}
	}
	return ""
}

// isReady reports what the kubelet says of a Pod.
func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
