package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// A Case is one recorded conversation with an API server.
type Case struct {
	Name    string `json:"case"`
	Set     string `json:"set"`
	Subject string `json:"subject"`
	About   string `json:"about"`
	// Profile says what ran beside the API server: "apiserver" for nothing,
	// "full" for the controllers of kube-controller-manager.
	Profile string `json:"profile"`
	Steps   []Step `json:"steps"`
}

// Number is the case's number, "036" of dev-036-finalizer-lifecycle.
func (c *Case) Number() string {
	for _, part := range strings.Split(c.Name, "-") {
		if len(part) == 3 && strings.Trim(part, "0123456789") == "" {
			return part
		}
	}
	return c.Name
}

// A Step is one request, or one look at an open watch. The README beside the
// cases defines each field.
type Step struct {
	ID   string `json:"id"`
	Note string `json:"note"`
	Verb string `json:"verb"`

	Resource      string         `json:"resource"`
	Namespace     string         `json:"namespace"`
	AllNamespaces bool           `json:"allNamespaces"`
	Name          string         `json:"name"`
	Subresource   string         `json:"subresource"`
	Query         map[string]any `json:"query"`
	Body          any            `json:"body"`
	Patch         string         `json:"patch"`

	// Only for verb raw.
	Method      string  `json:"method"`
	Path        string  `json:"path"`
	RawBody     *string `json:"rawBody"`
	ContentType string  `json:"contentType"`

	As        string `json:"as"`
	Accept    string `json:"accept"`
	UserAgent string `json:"userAgent"`

	// Only for verbs events and sleep.
	Watch       string  `json:"watch"`
	Count       int     `json:"count"`
	WaitSeconds float64 `json:"waitSeconds"`

	Until  *Until   `json:"until"`
	Show   []string `json:"show"`
	Expect *Expect  `json:"expect"`
}

// Until repeats a call until its answer has Code (if not zero) and the value at
// Path (if not empty) contains Value.
type Until struct {
	Code  int    `json:"code"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Expect is a recorded answer: of a request, or (Events, Ended) of a watch.
type Expect struct {
	Code             int            `json:"code"`
	Warnings         []string       `json:"warnings"`
	RetryAfterHeader string         `json:"retryAfterHeader"`
	Text             *string        `json:"text"`
	Status           map[string]any `json:"status"`
	Fields           map[string]any `json:"fields"`
	Events           []ExpectEvent  `json:"events"`
	Ended            bool           `json:"ended"`
}

// ExpectEvent is one event of a watch.
type ExpectEvent struct {
	Type   string         `json:"type"`
	Fields map[string]any `json:"fields"`
	Status map[string]any `json:"status"`
}

// Load reads every *.yaml file of dir, in order of their names.
func Load(dir string) ([]*Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list cases in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no cases in %s", dir)
	}
	sort.Strings(files)
	cases := make([]*Case, 0, len(files))
	for _, file := range files {
		c, err := LoadFile(file)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// LoadFile reads one case.
func LoadFile(file string) (*Case, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read case: %w", err)
	}
	c, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", filepath.Base(file), err)
	}
	return c, nil
}

// Parse decodes one case and checks that every step can be run.
func Parse(data []byte) (*Case, error) {
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	c := &Case{}
	if err := decodeStrict(asJSON, c); err != nil {
		return nil, err
	}
	if c.Name == "" {
		return nil, fmt.Errorf("no name in field \"case\"")
	}
	seen := map[string]bool{}
	for i := range c.Steps {
		step := &c.Steps[i]
		if err := step.check(seen); err != nil {
			return nil, fmt.Errorf("step %q: %w", step.ID, err)
		}
		seen[step.ID] = true
	}
	return c, nil
}

func (s *Step) check(seen map[string]bool) error {
	if s.ID == "" || seen[s.ID] {
		return fmt.Errorf("its id must be there and unique")
	}
	switch s.Verb {
	case "create", "get", "list", "update", "patch", "delete", "deletecollection", "watch":
		if _, err := parseResource(s.Resource); err != nil {
			return err
		}
		if s.Verb == "patch" && patchContentType(s.Patch) == "" {
			return fmt.Errorf("unknown patch type %q", s.Patch)
		}
	case "raw":
		if !strings.HasPrefix(s.Path, "/") {
			return fmt.Errorf("path %q must start with /", s.Path)
		}
	case "events":
		if !seen[s.Watch] {
			return fmt.Errorf("watch %q is not an earlier step", s.Watch)
		}
	case "sleep", "compact", "restart":
		return nil
	default:
		return fmt.Errorf("unknown verb %q", s.Verb)
	}
	if s.Expect == nil {
		return fmt.Errorf("no expect")
	}
	return nil
}

// decodeStrict keeps numbers as they are written and refuses unknown fields.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode(into)
}
