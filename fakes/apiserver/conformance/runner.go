package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// An Outcome is how one step went.
type Outcome struct {
	Step *Step
	// Differences is empty when the answer is the recorded one.
	Differences []Difference
}

// Agreed tells whether the whole answer is the recorded one.
func (o *Outcome) Agreed() bool { return len(o.Differences) == 0 }

// A Result is how a case went. Steps without an expectation (sleep, compact,
// restart) have no outcome.
type Result struct {
	Case     *Case
	Outcomes []Outcome
	// Err says why the case could not be run to its end; nil if it was.
	Err error
}

// RunCase runs one case against a target.
func RunCase(ctx context.Context, target Target, c *Case) *Result {
	result := &Result{Case: c}
	if result.Err = target.Able(c); result.Err != nil {
		return result
	}
	run := start(&target, c)
	defer run.close(ctx)
	if result.Err = run.prepare(ctx); result.Err != nil {
		return result
	}
	for i := range c.Steps {
		step := &c.Steps[i]
		diffs, err := run.step(ctx, step)
		if err != nil {
			result.Err = fmt.Errorf("step %q: %w", step.ID, err)
			return result
		}
		if step.Expect != nil {
			result.Outcomes = append(result.Outcomes, Outcome{Step: step, Differences: diffs})
		}
	}
	if unmet := run.symbols.unmet(); len(unmet) > 0 {
		last := &result.Outcomes[len(result.Outcomes)-1]
		last.Differences = append(last.Differences, unmet...)
	}
	return result
}

// caseRun is one case under way.
type caseRun struct {
	target  *Target
	c       *Case
	scope   *scope
	symbols *symbols
	streams map[string]*stream
	made    []string // paths of what to delete at the end
}

func start(target *Target, c *Case) *caseRun {
	ns := "c" + c.Number() + target.Unique
	return &caseRun{
		target: target,
		c:      c,
		scope: &scope{
			vars: map[string]string{
				"ns": ns, "ns2": ns + "b", "x": "x" + c.Number() + target.Unique,
				"webhookURL": target.WebhookURL, "webhookCA": target.WebhookCA,
			},
			answers: map[string]any{},
		},
		symbols: newSymbols(time.Now()),
		streams: map[string]*stream{},
	}
}

// prepare makes the case's namespaces; in a full cluster it waits until the
// service account controller has been there.
func (run *caseRun) prepare(ctx context.Context) error {
	names := []string{run.scope.vars["ns"]}
	if run.c.mentions("${ns2}") {
		names = append(names, run.scope.vars["ns2"])
	}
	for _, name := range names {
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
		answer, err := run.simple(ctx, http.MethodPost, "/api/v1/namespaces", body)
		if err != nil {
			return err
		}
		if answer.Code != http.StatusCreated {
			return fmt.Errorf("create namespace %s: %d %s", name, answer.Code, answer.brief())
		}
		run.made = append(run.made, "/api/v1/namespaces/"+name)
	}
	if !run.c.Full() {
		return nil
	}
	account := "/api/v1/namespaces/" + names[0] + "/serviceaccounts/default"
	for try := 0; try < untilTries; try++ {
		answer, err := run.simple(ctx, http.MethodGet, account, "")
		if err != nil || answer.Code == http.StatusOK {
			return err
		}
		pause(ctx, untilPause)
	}
	return fmt.Errorf("no default service account in %s: the target runs no controllers", names[0])
}

// mentions tells whether any step uses the substitution.
func (c *Case) mentions(substitution string) bool {
	data, err := json.Marshal(c.Steps)
	return err == nil && strings.Contains(string(data), substitution)
}

// simple makes a request that is not part of the case.
func (run *caseRun) simple(ctx context.Context, method, path, body string) (*Answer, error) {
	return run.plain(ctx, method, path, "application/json", body)
}

func (run *caseRun) plain(ctx context.Context, method, path, contentType, body string) (*Answer, error) {
	req := &request{method: method, path: path, header: map[string]string{"Accept": "application/json"}}
	if body != "" {
		req.body = []byte(body)
		req.header["Content-Type"] = contentType
	}
	resp, err := run.target.send(ctx, req)
	if err != nil {
		return nil, err
	}
	return readAnswer(resp)
}

// close ends the watches and, on a lasting target, deletes what was made,
// newest first. The target may refuse; the next run uses other names.
func (run *caseRun) close(ctx context.Context) {
	for _, s := range run.streams {
		s.close()
	}
	if !run.target.Lasting {
		return
	}
	for i := len(run.made) - 1; i >= 0; i-- {
		_, _ = run.simple(ctx, http.MethodDelete, run.made[i], "")
	}
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
