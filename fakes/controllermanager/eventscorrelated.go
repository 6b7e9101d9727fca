package controllermanager

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What client-go's recorder does to keep Events few: those that differ in nothing but
// their text are combined from the tenth on, those that are the same are counted, and
// each source has a budget for each object.
const (
	similarMax    = 10
	similarWithin = 10 * time.Minute
	eventBurst    = 25
	eventRefill   = 5 * time.Minute
)

// similarEvents are the texts of events that differ in nothing else.
type similarEvents struct {
	texts []string // the oldest first
	last  time.Time
}

// writtenEvent is an event that has been written before.
type writtenEvent struct {
	name  string
	count int32
	first metav1.Time
}

// eventBudget is what a source may still tell about an object.
type eventBudget struct {
	tokens float64
	at     time.Time
}

// correlate returns what is to be written for an event, nil if nothing is.
func (r *recorder) correlate(ev *corev1.Event) *corev1.Event {
	ev, key := r.combine(ev)
	if was := r.written[key]; was != nil {
		ev.Name, ev.FirstTimestamp, ev.Count = was.name, was.first, was.count+1
	}
	r.written[key] = &writtenEvent{name: ev.Name, count: ev.Count, first: ev.FirstTimestamp}
	if !r.afford(ev) {
		return nil
	}
	return ev
}

func eventKey(ev *corev1.Event, more ...string) string {
	about := &ev.InvolvedObject
	parts := []string{ev.Source.Component, about.APIVersion, about.Kind, about.Namespace, about.Name, string(about.UID), ev.Type}
	return strings.Join(append(parts, more...), "\x00")
}

// combine makes one event of many similar ones, and returns under which key it is
// counted.
func (r *recorder) combine(ev *corev1.Event) (*corev1.Event, string) {
	now := r.m.opts.Clock.Now()
	all, one := eventKey(ev, ev.Reason), eventKey(ev, ev.Reason, ev.Message)
	s := r.similar[all]
	if s == nil || now.Sub(s.last) > similarWithin {
		s = &similarEvents{}
		r.similar[all] = s
	}
	s.last = now
	if !slices.Contains(s.texts, ev.Message) {
		s.texts = append(s.texts, ev.Message)
	}
	if len(s.texts) < similarMax {
		return ev, one
	}
	s.texts = slices.Delete(s.texts, 0, 1)
	ev.Name = r.name(ev.InvolvedObject.Name)
	ev.Message = "(combined from similar events): " + ev.Message
	return ev, all
}

// afford takes one from the budget that the source has for the object.
func (r *recorder) afford(ev *corev1.Event) bool {
	now, key := r.m.opts.Clock.Now(), eventKey(ev)
	b := r.budgets[key]
	if b == nil {
		b = &eventBudget{tokens: eventBurst, at: now}
		r.budgets[key] = b
	}
	b.tokens = min(eventBurst, b.tokens+float64(now.Sub(b.at))/float64(eventRefill))
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
