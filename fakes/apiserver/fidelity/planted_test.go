package fidelity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// planted is a fake with a fault: it changes requests, answers or the events of
// watches.
type planted struct {
	http.RoundTripper
	answer func(r *http.Request, code int, body map[string]any) int
	event  func(line string) string
}

// RoundTrip implements http.RoundTripper.
func (p *planted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if r.URL.Query().Get("watch") != "" {
		if p.event != nil {
			resp.Body = &changedLines{body: resp.Body, change: p.event}
		}
		return resp, nil
	}
	if p.answer == nil {
		return resp, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&body) == nil {
		resp.StatusCode = p.answer(r, resp.StatusCode, body)
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// changedLines changes the events of a stream; each Read of the fake's is one.
type changedLines struct {
	body   io.ReadCloser
	change func(string) string
	left   []byte
}

// Read implements io.Reader.
func (c *changedLines) Read(p []byte) (int, error) {
	buffer := make([]byte, 1<<20)
	for len(c.left) == 0 {
		n, err := c.body.Read(buffer)
		if n > 0 {
			c.left = []byte(c.change(string(buffer[:n])))
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// Close implements io.Closer.
func (c *changedLines) Close() error { return c.body.Close() }

func set(body map[string]any, value any, path ...string) {
	for _, part := range path[:len(path)-1] {
		body, _ = body[part].(map[string]any)
	}
	if body != nil {
		if _, there := body[path[len(path)-1]]; there {
			body[path[len(path)-1]] = value
		}
	}
}

func plan(sequences int, change func(http.RoundTripper) http.RoundTripper) Plan {
	n := 0
	fake := func() (conformance.Target, error) {
		t := NewFake()
		n++
		t.Unique = fmt.Sprintf("u%d", n)
		return t, nil
	}
	return Plan{
		Sequences: sequences, Calls: 30, Seed: 1, Workers: 1, ShrinkTime: 20 * time.Second, Reality: fake,
		Resources: []string{"v1/configmaps", "v1/secrets", "v1/pods", "v1/services", "apps/v1/deployments"},
		Fake: func() (conformance.Target, error) {
			t, err := fake()
			if change != nil {
				t.Transport = change(t.Transport)
			}
			return t, err
		},
	}
}

func TestAFakeAgreesWithItself(t *testing.T) {
	p := plan(15, nil)
	p.Found = func(seed int, d *Divergence) { t.Errorf("seed %d: %s", seed, d) }
	outcome, err := Explore(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Calls < 15*10 || outcome.Agreed+outcome.Known+outcome.Refused != outcome.Calls {
		t.Errorf("%s", outcome.Summary())
	}
}

// TestEveryKindOfFaultIsFound plants one fault at a time and expects it to be
// found in generated calls, and told small.
func TestEveryKindOfFaultIsFound(t *testing.T) {
	answers := func(change func(r *http.Request, code int, body map[string]any) int) func(http.RoundTripper) http.RoundTripper {
		return func(rt http.RoundTripper) http.RoundTripper { return &planted{RoundTripper: rt, answer: change} }
	}
	events := func(change func(string) string) func(http.RoundTripper) http.RoundTripper {
		return func(rt http.RoundTripper) http.RoundTripper { return &planted{RoundTripper: rt, event: change} }
	}
	for name, fault := range map[string]struct {
		change func(http.RoundTripper) http.RoundTripper
		field  string // of the difference
	}{
		"wrong code": {answers(func(r *http.Request, code int, body map[string]any) int {
			if r.Method == http.MethodPost && code == 409 {
				return 400
			}
			return code
		}), "code"},
		"wrong reason": {answers(func(_ *http.Request, code int, body map[string]any) int {
			if code == 404 {
				set(body, "Gone", "reason")
			}
			return code
		}), "status.reason"},
		"wrong message": {answers(func(_ *http.Request, code int, body map[string]any) int {
			if code == 404 {
				set(body, "not here", "message")
			}
			return code
		}), "status.message"},
		"a no-op gets a new version": {answers(func(r *http.Request, code int, body map[string]any) int {
			if r.Method == http.MethodPut && code == 200 {
				set(body, "999999", "metadata", "resourceVersion")
			}
			return code
		}), "metadata.resourceVersion"},
		"wrong default": {answers(func(_ *http.Request, code int, body map[string]any) int {
			set(body, "Sometimes", "type")
			set(body, "Never", "spec", "restartPolicy")
			set(body, "Never", "spec", "template", "spec", "restartPolicy")
			set(body, "ClientIP", "spec", "sessionAffinity")
			return code
		}), `fields["*"]`},
		"a changed uid": {answers(func(r *http.Request, code int, body map[string]any) int {
			if r.Method == http.MethodGet {
				set(body, "11111111-1111-4111-8111-111111111111", "metadata", "uid")
			}
			return code
		}), "metadata.uid"},
		"a missing event": {events(func(line string) string {
			if strings.HasPrefix(line, `{"type":"MODIFIED"`) || strings.HasPrefix(line, `{"type":"DELETED"`) {
				return ""
			}
			return line
		}), "events["},
		"a wrong event": {events(func(line string) string { return strings.Replace(line, `"type":"ADDED"`, `"type":"MODIFIED"`, 1) }), ".type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(25, fault.change)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var found []*Divergence
			p.Found = func(_ int, d *Divergence) {
				found = append(found, d)
				if strings.Contains(d.Differences[0].Field, fault.field) {
					cancel() // that is enough
				}
			}
			if _, err := Explore(ctx, p); err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
			for _, d := range found {
				if strings.Contains(d.Differences[0].Field, fault.field) {
					if n := len(d.Case.Steps); n > 8 {
						t.Errorf("it takes %d steps to tell %s", n, d)
					}
					return
				}
			}
			t.Errorf("not found; %d other divergences: %v", len(found), found)
		})
	}
}

// TestADivergenceBecomesACase writes the divergence of a faulty fake down, and
// plays it to the sound one and to the faulty one.
func TestADivergenceBecomesACase(t *testing.T) {
	faulty := func(rt http.RoundTripper) http.RoundTripper {
		return &planted{RoundTripper: rt, answer: func(r *http.Request, code int, body map[string]any) int {
			if r.Method == http.MethodPost {
				set(body, "Default", "kind")
			}
			return code
		}}
	}
	p := plan(10, faulty)
	var c *conformance.Case
	p.Found = func(seed int, d *Divergence) { c = CaseOf(seed, d) }
	if _, err := Explore(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	if c == nil {
		t.Fatal("no divergence")
	}
	text, err := conformance.Format(c)
	if err != nil {
		t.Fatal(err)
	}
	read, err := conformance.Parse("case.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	target := NewFake()
	if verdict := conformance.RunCase(context.Background(), target, read).Verdict(nil); verdict != conformance.Agreed {
		t.Errorf("the sound fake: %v\n%s", verdict, text)
	}
	target = NewFake()
	target.Transport = faulty(target.Transport)
	if verdict := conformance.RunCase(context.Background(), target, read).Verdict(nil); verdict == conformance.Agreed {
		t.Errorf("the faulty fake agrees with\n%s", text)
	}
}
