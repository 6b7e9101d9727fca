package scenarios

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// The XML of JUnit, as far as CI systems read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name       string          `xml:"name,attr"`
		Class      string          `xml:"classname,attr"`
		File       string          `xml:"file,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Failure    *junitProblem   `xml:"failure"`
		Error      *junitProblem   `xml:"error"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes verdicts as JUnit XML: a suite per folder, a case per
// scenario. Texts, by scenario name, are put into the failing cases.
func WriteJUnit(out io.Writer, verdicts []Verdict, texts map[string]string) error {
	all := junitSuites{Name: "seedbed"}
	for i := range verdicts {
		v := &verdicts[i]
		folder := filepath.ToSlash(filepath.Dir(v.File.Path))
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != folder {
			all.Suites = append(all.Suites, junitSuite{Name: folder})
		}
		suite := &all.Suites[len(all.Suites)-1]
		c := junitCase{
			Name: v.File.Metadata.Name, Class: "seedbed." + strings.ReplaceAll(folder, "/", "."), File: v.File.Path,
			Properties: []junitProperty{
				{"runs", fmt.Sprint(v.Runs)}, {"steps", fmt.Sprint(v.Steps)}, {"simulatedSeconds", fmt.Sprint(v.Simulated.Seconds())},
			},
		}
		problem := &junitProblem{Text: texts[v.File.Metadata.Name]}
		switch {
		case v.Bad != nil && v.Bad.Result == Violated:
			problem.Type, problem.Message = v.Bad.Property, fmt.Sprintf("violates %s at seed %d: %s", v.Bad.Property, v.Bad.Seed, v.Bad.Found)
			c.Failure = problem
			suite.Failures++
			all.Failures++
		case v.Bad != nil:
			problem.Type, problem.Message = string(v.Bad.Result), v.Err.Error()
			c.Error = problem
			suite.Errors++
			all.Errors++
		case v.Err != nil:
			problem.Type, problem.Message = v.File.Expect.Violates, v.Err.Error()
			c.Failure = problem
			suite.Failures++
			all.Failures++
		}
		suite.Tests++
		all.Tests++
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(out, "\n")
	return err
}
