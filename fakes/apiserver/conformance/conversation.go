package conformance

import (
	"context"
	"fmt"
	"net/http"
)

// A Conversation is a case under way against one target, for those who take its
// steps one by one: to compare two targets after each, or to record one.
// [RunCase] does the same for a case that has its expectations.
type Conversation struct{ run *caseRun }

// Converse makes the case's namespaces on the target.
func Converse(ctx context.Context, target Target, c *Case) (*Conversation, error) {
	if err := target.Able(c); err != nil {
		return nil, err
	}
	cv := &Conversation{run: start(&target, c)}
	return cv, cv.run.prepare(ctx)
}

// Vars returns what ${ns}, ${ns2}, ${x} and the like stand for.
func (cv *Conversation) Vars() map[string]string { return cv.run.scope.vars }

// Take takes a step that is a request; a watch stays open, see [Conversation.Events].
// The error means that the request could not be made.
func (cv *Conversation) Take(ctx context.Context, s *Step) (*Answer, error) {
	answer, err := cv.run.answer(ctx, s)
	if err == nil {
		cv.run.scope.answers[s.ID] = answer.Body
	}
	return answer, err
}

// Events returns what a watch got since the last call, without waiting, and
// whether the server has closed it. ok is false if there is no such watch,
// because it was refused.
func (cv *Conversation) Events(watch string) (events []Event, ended, ok bool) {
	s, ok := cv.run.streams[watch]
	if !ok {
		return nil, false, false
	}
	events, ended = s.drain()
	return events, ended, true
}

// Compare compares an answer of this conversation's target with a record.
func (cv *Conversation) Compare(s *Step, want *Expect, got *Answer) ([]Difference, error) {
	return cv.compare(s, want, func(c *comparison, want *Expect) { c.answer(want, got) })
}

// CompareEvents compares the events of a watch with a record.
func (cv *Conversation) CompareEvents(s *Step, want *Expect, got []Event, ended bool) ([]Difference, error) {
	return cv.compare(s, want, func(c *comparison, want *Expect) { c.events(want, got, ended) })
}

func (cv *Conversation) compare(s *Step, want *Expect, with func(*comparison, *Expect)) ([]Difference, error) {
	recorded := *s
	recorded.Expect = want
	substituted, err := cv.run.expectation(&recorded)
	if err != nil {
		return nil, err
	}
	c := &comparison{symbols: cv.run.symbols, dumps: dumpCases[cv.run.c.Number()]}
	with(c, substituted)
	return c.diffs, nil
}

// Unmet returns the floors, such as >=$rv2, that do not hold.
func (cv *Conversation) Unmet() []Difference { return cv.run.symbols.unmet() }

// Close ends the watches and, on a lasting target, deletes what was made.
func (cv *Conversation) Close(ctx context.Context) {
	if cv.run.target.Lasting {
		cv.freeServices(ctx)
	}
	cv.run.close(ctx)
}

// freeServices deletes the services of the case's namespaces: nothing else gives
// their addresses back where no controller empties namespaces.
func (cv *Conversation) freeServices(ctx context.Context) {
	cv.freeServicesOf(ctx, "ns")
	if cv.run.c.mentions("${ns2}") {
		cv.freeServicesOf(ctx, "ns2")
	}
}

func (cv *Conversation) freeServicesOf(ctx context.Context, namespace string) {
	path := "/api/v1/namespaces/" + cv.run.scope.vars[namespace] + "/services"
	list, err := cv.run.simple(ctx, http.MethodGet, path, "")
	if err != nil {
		return
	}
	names, err := Lookup(list.Body, "items[*].metadata.name")
	if err != nil {
		return
	}
	items, _ := names.([]any)
	for _, name := range items {
		one := fmt.Sprintf("%s/%v", path, name)
		_, _ = cv.run.plain(ctx, http.MethodPatch, one, patchContentType("merge"), `{"metadata":{"finalizers":null}}`)
		_, _ = cv.run.simple(ctx, http.MethodDelete, one, "")
	}
}
