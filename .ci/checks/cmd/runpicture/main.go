// Runpicture draws rotations of gossip keys as an SVG: one panel for each run,
// one lane for each node, its key ring over virtual time. It made the picture in
// the README:
//
//	make picture
//
// Each argument is a title and a trace, TITLE=FILE; a trace is what
// seedbed run --trace writes. The picture goes to the standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// record is one line of a trace.
type record struct {
	At                        float64 // virtual seconds
	Kind, Actor, Verb, Detail string
}

// run is what of a trace the picture shows.
type run struct {
	title    string
	from, to float64 // virtual seconds
	rings    map[string][]span
	nodes    []string // in order of their names
	marks    []mark   // what an operator does
	broken   *mark    // the violated property, if any
	deaf     [2]string
}

type span struct {
	from float64
	keys []string
}

type mark struct {
	at   float64
	text string
}

var (
	ringHolds  = regexp.MustCompile(`^its ring holds \[(.*)\]$`)
	short      = strings.NewReplacer("the keys ", "", " into the Secret", "")
	cannotRead = regexp.MustCompile(`(\S+) cannot read (\S+): `)
)

func main() {
	var runs []*run
	for _, arg := range os.Args[1:] {
		title, file, ok := strings.Cut(arg, "=")
		if !ok {
			fail(fmt.Errorf("%q: write TITLE=FILE", arg))
		}
		r, err := read(title, file)
		if err != nil {
			fail(err)
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		fail(fmt.Errorf("no trace; write TITLE=FILE"))
	}
	if err := draw(os.Stdout, runs); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "runpicture:", err)
	os.Exit(2)
}

func read(title, file string) (*run, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &run{title: title, rings: map[string][]span{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var rec record
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		r.add(rec)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(r.nodes) == 0 || len(r.marks) == 0 {
		return nil, fmt.Errorf("%s: no key rings, or nobody changed the keys", file)
	}
	r.from, r.to = r.marks[0].at-6, r.to+4
	return r, nil
}

func (r *run) add(rec record) {
	switch {
	case rec.Kind == "sys" && rec.Verb == "ring":
		m := ringHolds.FindStringSubmatch(rec.Detail)
		node, _, _ := strings.Cut(rec.Actor, "/")
		if m == nil {
			return
		}
		if r.rings[node] == nil {
			r.nodes = insert(r.nodes, node)
		}
		r.rings[node] = append(r.rings[node], span{rec.At, strings.Fields(m[1])})
		r.to = rec.At
	case rec.Kind == "story" && strings.HasPrefix(rec.Verb, "gossipkeys."):
		r.marks = append(r.marks, mark{rec.At, short.Replace(rec.Detail)})
	case rec.Kind == "prop" && rec.Verb == "broken":
		r.broken = &mark{rec.At, strings.TrimPrefix(rec.Detail, "property broken: ")}
		if m := cannotRead.FindStringSubmatch(rec.Detail); m != nil {
			r.deaf = [2]string{m[1], m[2]}
		}
		r.to = rec.At
	}
}

// insert puts a name where it belongs in a sorted list.
func insert(names []string, name string) []string {
	i := 0
	for i < len(names) && names[i] < name {
		i++
	}
	return append(names[:i], append([]string{name}, names[i:]...)...)
}
