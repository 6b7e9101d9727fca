package fidelity

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// Calls generates cases: sequences of about n calls, without expectations, with
// watches open. They are about few kinds and few names, so that calls meet: names
// are taken, versions grow old, selectors begin and cease to match.
//
// A case is only data. It refers to earlier answers by ${STEP:path}, so it can
// be sent to any server, and steps can be left out of it.
//
// Without resources, written as "apps/v1/deployments", the calls are about all
// those it knows.
func Calls(n int, resources ...string) *rapid.Generator[*conformance.Case] {
	all := slices.DeleteFunc(kinds(), func(k kind) bool { return len(resources) > 0 && !slices.Contains(resources, k.resource) })
	return rapid.Custom(func(t *rapid.T) *conformance.Case {
		g := &generator{t: t, c: &conformance.Case{
			Name: "gen-999-calls", Set: "gen", Subject: "generated", About: "Generated calls.", Profile: "apiserver",
		}, seen: map[string][]string{}}
		g.choose(all)
		for range rapid.IntRange(0, 2).Draw(t, "watches") {
			g.watch()
		}
		for len(g.c.Steps) < n {
			g.call()
		}
		g.look()
		return g.c
	})
}

// generator is a case in the making.
type generator struct {
	t       *rapid.T
	c       *conformance.Case
	kinds   []kind
	watches []string
	// seen has for each object the steps whose answer should be the whole of
	// it, oldest first.
	seen  map[string][]string
	lists []string // steps that should have answered a list
}

// choose picks what the case is about.
func (g *generator) choose(all []kind) {
	var weighted []kind
	for _, k := range all {
		for range k.weight {
			weighted = append(weighted, k)
		}
	}
	for range rapid.IntRange(1, 2).Draw(g.t, "kinds") {
		k := one(g, "kind", weighted)
		g.kinds = append(g.kinds, k)
		if along := slices.DeleteFunc(kinds(), func(other kind) bool { return !slices.Contains(k.with, other.resource) }); len(along) > 0 {
			g.kinds = append(g.kinds, one(g, "along", along))
		}
	}
	for i := range g.kinds {
		if g.kinds[i].custom {
			g.define()
			return
		}
	}
}

// define makes the custom resource, unless it is there already: a real server
// keeps it from case to case.
func (g *generator) define() {
	g.step(&conformance.Step{Verb: "create", Resource: "apiextensions.k8s.io/v1/customresourcedefinitions", Body: parseYAML(thingDefinition), Note: setUp})
	g.step(&conformance.Step{
		Verb: "get", Resource: "apiextensions.k8s.io/v1/customresourcedefinitions", Name: "things.fidelity.example.com", Note: setUp,
		Until: &conformance.Until{Path: "status.conditions[type=Established].status", Value: "True"},
	})
	g.step(&conformance.Step{Verb: "list", Resource: "fidelity.example.com/v1/things", Namespace: "${ns}", Note: setUp, Until: &conformance.Until{Code: 200}})
}

// setUp is the note of steps whose answers are not compared.
const setUp = "sets the stage"

// step adds a step and returns its id.
func (g *generator) step(s *conformance.Step) string {
	s.ID = fmt.Sprintf("s%d", len(g.c.Steps)+1)
	g.c.Steps = append(g.c.Steps, *s)
	return s.ID
}

// chance is true in about percent of a hundred cases; false is the simpler.
func (g *generator) chance(label string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(g.t, label) >= 100-percent
}

func one[T any](g *generator, label string, from []T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(g.t, label)]
}

func (g *generator) kind() *kind {
	return &g.kinds[rapid.IntRange(0, len(g.kinds)-1).Draw(g.t, "kind")]
}

// names of objects. Those of cluster-scoped kinds must be of this run.
func (g *generator) name(k *kind) string {
	name := "a"
	if !k.alone {
		name = one(g, "name", []string{"a", "b", "a", "b", "c"})
	}
	if k.cluster {
		return "${x}" + name
	}
	return name
}

func (g *generator) namespace(k *kind) string {
	switch {
	case k.cluster:
		return ""
	case g.chance("elsewhere", 3):
		return "${ns}-missing"
	case g.chance("second namespace", 5):
		return "${ns2}"
	}
	return "${ns}"
}

type object struct {
	*kind
	namespace, objectName string
}

func (o object) key() string { return o.resource + " " + o.namespace + " " + o.objectName }

func (g *generator) object() object {
	k := g.kind()
	return object{kind: k, namespace: g.namespace(k), objectName: g.name(k)}
}

// target of a step about an object.
func (o object) step(verb string) *conformance.Step {
	return &conformance.Step{Verb: verb, Resource: o.resource, Namespace: o.namespace, Name: o.objectName}
}

var calls = []struct {
	weight int
	do     func(*generator)
}{
	{20, (*generator).create},
	{5, (*generator).get},
	{9, (*generator).list},
	{13, (*generator).update},
	{16, (*generator).patch},
	{10, (*generator).apply},
	{9, (*generator).delete},
	{2, (*generator).deleteCollection},
	{7, (*generator).status},
	{5, (*generator).subresource},
	{3, (*generator).watch},
	{5, (*generator).look},
	{2, (*generator).nonsense},
}

func (g *generator) call() {
	total := 0
	for _, c := range calls {
		total += c.weight
	}
	at := rapid.IntRange(0, total-1).Draw(g.t, "call")
	for _, c := range calls {
		if at -= c.weight; at < 0 {
			c.do(g)
			return
		}
	}
}

// fresh is the last step that should have answered the whole object.
func (g *generator) fresh(o object) (string, bool) {
	steps := g.seen[o.key()]
	if len(steps) == 0 {
		return "", false
	}
	return steps[len(steps)-1], true
}

func (g *generator) learned(o object, step string) {
	g.seen[o.key()] = append(g.seen[o.key()], step)
}

// setIn sets a member at a dotted path.
func setIn(m map[string]any, path string, value any) {
	parts := strings.Split(path, ".")
	for _, part := range parts[:len(parts)-1] {
		next, ok := m[part].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[part] = next
		}
		m = next
	}
	m[parts[len(parts)-1]] = value
}
