package home

import (
	"context"
	"sync"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// losses are the reasons why the scope is lost, on their way to who wants to know.
type losses struct {
	due clock.Signal

	mu      sync.Mutex
	handler func(ctx context.Context, reason string)
	known   map[string]bool
	queue   []string
}

// OnScopeLost sets what is called, once per reason and on a task of the home's own,
// when the Pod's scope goes away under it. It is called while Run runs, with Run's
// context, one reason at a time and in the order in which they were found. A reason
// that comes when nobody is set is dropped.
func (h *Home) OnScopeLost(fn func(ctx context.Context, reason string)) {
	h.losses.mu.Lock()
	defer h.losses.mu.Unlock()
	h.losses.handler = fn
}

// lose notes a loss. It never waits: a slow handler must not hold up the polls.
func (h *Home) lose(reason string) {
	l := &h.losses
	l.mu.Lock()
	fresh := !l.known[reason]
	if fresh {
		if l.known == nil {
			l.known = map[string]bool{}
		}
		l.known[reason] = true
		l.queue = append(l.queue, reason)
	}
	l.mu.Unlock()
	if fresh {
		h.log.Info("The scope is lost", "reason", reason)
		l.due.Send()
	}
}

// deliverLosses hands losses over until ctx ends.
func (h *Home) deliverLosses(ctx context.Context) {
	for ctx.Err() == nil {
		reason, handler, ok := h.losses.next()
		if !ok {
			if h.losses.due.Wait(ctx) != nil {
				return
			}
			continue
		}
		if handler == nil {
			h.log.Info("Nobody wants to know that the scope is lost", "reason", reason)
			continue
		}
		handler(ctx, reason)
	}
}

// next takes the first reason, with who handles it.
func (l *losses) next() (reason string, handler func(context.Context, string), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return "", nil, false
	}
	reason = l.queue[0]
	l.queue = l.queue[1:]
	return reason, l.handler, true
}
