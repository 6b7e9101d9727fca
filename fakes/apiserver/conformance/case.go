package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// Full tells that the case needs the controllers of kube-controller-manager.
func (c *Case) Full() bool { return c.Profile == fullProfile }

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

// silent tells that a step has no answer.
func (s *Step) silent() bool { return s.Verb == "sleep" || s.Verb == "compact" || s.Verb == "restart" }

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

// Load reads every *.yaml file of dir, in order of their names. The error is
// [Mistakes] if files could be read but not understood.
func Load(dir string) ([]*Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list cases in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no cases in %s", dir)
	}
	return LoadFiles(files)
}

// LoadFiles reads cases, in the order of their files' names. The error is
// [Mistakes] if files could be read but not understood.
func LoadFiles(files []string) ([]*Case, error) { return loadFiles(files, false) }

// LoadQuestions reads cases as [LoadFiles] does, but their steps need no
// expectations: they are still to be recorded, see [Ask].
func LoadQuestions(files []string) ([]*Case, error) { return loadFiles(files, true) }

func loadFiles(files []string, questions bool) ([]*Case, error) {
	var mistakes Mistakes
	cases := make([]*Case, 0, len(files))
	for _, file := range slices.Sorted(slices.Values(files)) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read case: %w", err)
		}
		c, err := parse(file, data, questions)
		var wrong Mistakes
		switch {
		case errors.As(err, &wrong):
			mistakes = append(mistakes, wrong...)
		case err != nil:
			return nil, err
		}
		cases = append(cases, c)
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return cases, nil
}

// Parse decodes one case, strictly, and checks that every step can be run. File
// is only its name. The error is [Mistakes].
func Parse(file string, data []byte) (*Case, error) { return parse(file, data, false) }

// parse lets questions go without an answer.
func parse(file string, data []byte, questions bool) (*Case, error) {
	c := &Case{}
	src, err := readSource(file, data, c)
	if err != nil {
		return nil, err
	}
	if len(src.mistakes) > 0 {
		return nil, src.mistakes
	}
	// Numbers stay as they are written.
	if err := yaml.UnmarshalStrict(data, c, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }); err != nil {
		return nil, Mistakes{syntaxMistake(file, err)}
	}
	src.questions = questions
	if src.check(c); len(src.mistakes) > 0 {
		return nil, src.mistakes
	}
	return c, nil
}
