// Command benchtargets reads what `go test -bench` printed and says which of the
// project's performance targets it meets. Ratios are between benchmarks of the
// same run, so they survive a slow or a busy machine; absolute targets are for a
// quiet one. It never fails a build: a benchmark on a shared machine is not a
// verdict.
//
//	go run ./cmd/benchtargets < out/bench.txt
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// target is one line of the table. Value is a measured figure, or the ratio of
// two: of by to.
type target struct {
	what     string
	of, by   figure // by is empty for an absolute target
	atMost   float64
	atLeast  float64
	quantity string
}

// figure is one unit of one benchmark.
type figure struct{ bench, unit string }

var targets = []target{
	{what: "resume + yield ÷ channel hand-off", of: figure{"Switch/engine/tasks=1", "ns/op"}, by: figure{"Switch/channels/tasks=1", "ns/op"}, atMost: 0.4},
	{what: "resume + yield, hot", of: figure{"Switch/engine/tasks=1", "ns/op"}, atMost: 110, quantity: "ns"},
	{what: "timer push and pop, 100k pending", of: figure{"Timer/pop/pending=100000", "ns/op"}, atMost: 130, quantity: "ns"},
	{what: "timer push and cancel, 100k pending", of: figure{"Timer/cancel/pending=100000", "ns/op"}, atMost: 130, quantity: "ns"},
	{what: "read-modify-write: default fake ÷ ours, Pod", of: figure{"ReadModifyWrite/Pod/cr-default", "ns/op"}, by: figure{"ReadModifyWrite/Pod/client", "ns/op"}, atLeast: 50},
	{what: "read-modify-write: plain tracker ÷ ours, Pod", of: figure{"ReadModifyWrite/Pod/cr-plain", "ns/op"}, by: figure{"ReadModifyWrite/Pod/client", "ns/op"}, atLeast: 4},
	{what: "owned Get: default fake ÷ ours, Pod", of: figure{"Get/Pod/cr-default", "ns/op"}, by: figure{"Get/Pod/client", "ns/op"}, atLeast: 8},
	{what: "owned List of 100: default fake ÷ ours, Pod", of: figure{"List100/Pod/cr-default", "ns/op"}, by: figure{"List100/Pod/client", "ns/op"}, atLeast: 8},
	{what: "1 % label list of 100k: plain tracker ÷ ours", of: figure{"LabelList/100000/cr-plain", "ns/op"}, by: figure{"LabelList/100000/client", "ns/op"}, atLeast: 500},
	{what: "watch fan-out to 10: default fake ÷ ours, Secret", of: figure{"FanOut/Secret/cr-default", "ns/op"}, by: figure{"FanOut/Secret/direct", "ns/op"}, atLeast: 100},
	{what: "watch fan-out to 10: default fake ÷ ours, Pod", of: figure{"FanOut/Pod/cr-default", "ns/op"}, by: figure{"FanOut/Pod/direct", "ns/op"}, atLeast: 100},
	{what: "events a second, 100 nodes", of: figure{"Events/nodes=100", "events/s"}, atLeast: 2e6},
	{what: "events a second, 5,000 nodes", of: figure{"Events/nodes=5000", "events/s"}, atLeast: 0.8e6},
	// What the targets above are of a world by hand on the machine they come from.
	{what: "events a second ÷ a world by hand, 100 nodes", of: figure{"Events/nodes=100", "events/s"}, by: figure{"BareEvents/nodes=100", "events/s"}, atLeast: 0.59},
	{what: "events a second ÷ a world by hand, 5,000 nodes", of: figure{"Events/nodes=5000", "events/s"}, by: figure{"BareEvents/nodes=5000", "events/s"}, atLeast: 0.67},
	{what: "cost of an event: 5,000 nodes ÷ 3 nodes", of: figure{"Events/nodes=5000", "ns/event"}, by: figure{"Events/nodes=3", "ns/event"}, atMost: 3.5},
	{what: "memory of an idle node", of: figure{"IdleNode", "B/node"}, atMost: 20e3, quantity: "B"},
	{what: "runs a second, 3 nodes for a minute", of: figure{"Run", "runs/s"}, atLeast: 5000},
	{what: "runs a second ÷ a world by hand, 3 nodes for a minute", of: figure{"Run", "runs/s"}, by: figure{"BareRun", "runs/s"}, atLeast: 0.55},
	{what: "1,000 runs of safe-rotation, 5 nodes, 2 cores", of: figure{"SafeRotation", "s/1000-runs"}, atMost: 30, quantity: "s"},
}

func main() {
	if err := report(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchtargets:", err)
		os.Exit(1)
	}
}

func report(in io.Reader, out io.Writer) error {
	measured, err := read(in)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "target\tmeasured\twanted\t")
	for _, t := range targets {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.what, t.show(measured), t.wanted(), t.verdict(measured))
	}
	return w.Flush()
}

// cpuSuffix is the number of processors at the end of a benchmark's name.
var cpuSuffix = regexp.MustCompile(`-\d+$`)

// read returns the values of each figure, in the order of the runs.
func read(in io.Reader) (map[figure][]float64, error) {
	measured := map[figure][]float64{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := cpuSuffix.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: value %q: %w", name, fields[i], err)
			}
			key := figure{name, fields[i+1]}
			measured[key] = append(measured[key], value)
		}
	}
	return measured, lines.Err()
}

// value is the median, or the ratio of medians; false if not measured.
func (t target) value(measured map[figure][]float64) (float64, bool) {
	of, ok := median(measured[t.of])
	if !ok || t.by == (figure{}) {
		return of, ok
	}
	by, ok := median(measured[t.by])
	return of / by, ok && by != 0
}

func median(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2], true
}

func (t target) show(measured map[figure][]float64) string {
	v, ok := t.value(measured)
	if !ok {
		return "-"
	}
	return t.number(v)
}

func (t target) number(v float64) string {
	digits := 0
	if v < 100 {
		digits = 2
	}
	return strings.TrimSpace(strconv.FormatFloat(v, 'f', digits, 64) + " " + t.quantity)
}

func (t target) wanted() string {
	if t.atMost > 0 {
		return "≤ " + t.number(t.atMost)
	}
	return "≥ " + t.number(t.atLeast)
}

func (t target) verdict(measured map[figure][]float64) string {
	v, ok := t.value(measured)
	switch {
	case !ok:
		return "not measured"
	case t.atMost > 0 && v > t.atMost, t.atLeast > 0 && v < t.atLeast:
		return "MISSED"
	}
	return "met"
}
