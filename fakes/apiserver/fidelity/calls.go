package fidelity

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// change is a field and a new value for it.
type change struct {
	path  string
	value any
}

// changes draws up to most changes of an object's fields.
func (g *generator) changes(fields []choice, most int) []change {
	var out []change
	for range rapid.IntRange(0, most).Draw(g.t, "changes") {
		from := fields
		if len(fields) == 0 || g.chance("metadata", 35) {
			from = metadataFields()
		}
		c := one(g, "field", from)
		out = append(out, change{c.path, one(g, "value", c.list())})
	}
	return out
}

// whole is a body with some fields set.
func (g *generator) whole(o object, most int) map[string]any {
	body := parseYAML(o.base)
	body["apiVersion"], body["kind"] = o.apiVersion, o.kind.name
	body["metadata"] = map[string]any{"name": o.objectName}
	if o.cluster {
		setIn(body, "metadata.labels", map[string]any{"run": "${x}"})
	}
	for _, c := range g.changes(o.fields, most) {
		if o.cluster && c.path == "metadata.labels" {
			continue // the label says whose it is
		}
		setIn(body, c.path, c.value)
	}
	return body
}

// options of a write.
func (g *generator) options(s *conformance.Step) {
	query := map[string]any{}
	if g.chance("dry run", 7) {
		query["dryRun"] = one(g, "dry run value", []string{"All", "All", "All", "Some"})
	}
	if g.chance("validation", 10) {
		query["fieldValidation"] = one(g, "validation value", []string{"Strict", "Ignore", "Warn", "Strict", "Bad"})
	}
	if g.chance("manager", 12) {
		query["fieldManager"] = one(g, "manager name", []string{"m1", "m2"})
	}
	if len(query) > 0 {
		s.Query = query
	}
	if g.chance("agent", 7) {
		s.UserAgent = "other-agent/2"
	}
}

func (g *generator) create() {
	o := g.object()
	s := o.step("create")
	s.Name = ""
	body := g.whole(o, 3)
	generated := false
	switch {
	case !o.alone && g.chance("generate", 8):
		// Another prefix each, so that the order in lists does not depend on the rest.
		setIn(body, "metadata.generateName", strings.TrimSuffix(o.objectName, "a")+fmt.Sprintf("g%d-", len(g.c.Steps)))
		if g.chance("without name", 80) {
			delete(body["metadata"].(map[string]any), "name")
			generated = true
		}
	case !o.alone && g.chance("bad name", 2): // some of these kinds name themselves
		setIn(body, "metadata.name", one(g, "name", []string{"Bad!", "", "a.b", "-a", strings.Repeat("x", 260)}))
		generated = true
	case g.chance("version", 2):
		setIn(body, "metadata.resourceVersion", one(g, "version value", []string{"1", "0", "x"}))
	case g.chance("namespace", 2):
		setIn(body, "metadata.namespace", one(g, "namespace value", []string{"${ns}", "other"}))
	}
	s.Body = body
	g.options(s)
	if id := g.step(s); !generated {
		g.learned(o, id)
	}
}

func (g *generator) get() {
	o := g.object()
	s := o.step("get")
	if g.chance("version", 15) {
		s.Query = map[string]any{"resourceVersion": one(g, "version value", append([]string{"0", "x"}, g.versions(o)...))}
	}
	if g.chance("accept", 8) {
		s.Accept = one(g, "accept value", accepts)
	}
	id := g.step(s)
	if s.Accept == "" {
		g.learned(o, id)
	}
}

var accepts = []string{
	"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "text/html",
}

// versions are resourceVersions out of earlier answers.
func (g *generator) versions(o object) []string {
	var out []string
	for _, id := range g.seen[o.key()] {
		out = append(out, "${"+id+":metadata.resourceVersion}")
	}
	return out
}

// selectors of a list, a watch or a deletecollection.
func (g *generator) selectors(k *kind, query map[string]any) {
	if k.cluster {
		query["labelSelector"] = one(g, "selector", []string{"run=${x}", "run=${x},app=a", "run in (${x})"})
	} else if g.chance("labels", 30) {
		query["labelSelector"] = one(g, "selector", []string{"app=a", "app!=a", "app", "!app", "app in (a,b),tier", "app notin (a)", "app=a,tier=x", "x=(", "tier>1"})
	}
	if g.chance("fields", 15) {
		query["fieldSelector"] = one(g, "selector", append([]string{"metadata.name=a", "metadata.name!=b", "metadata.namespace=${ns}"}, k.selectors...))
	}
}

func (g *generator) list() {
	k := g.kind()
	s := &conformance.Step{Verb: "list", Resource: k.resource, Namespace: g.namespace(k)}
	query := map[string]any{}
	g.selectors(k, query)
	if g.chance("limit", 25) {
		query["limit"] = one(g, "limit value", []int{1, 2, 1, 500, 0, -1})
	}
	if len(g.lists) > 0 && g.chance("continue", 15) {
		query["continue"] = "${" + one(g, "list", g.lists) + ":metadata.continue}"
	}
	if g.chance("version", 15) {
		versions := []string{"", "x"}
		for _, name := range []string{"a", "b"} {
			versions = append(versions, g.versions(object{kind: k, namespace: s.Namespace, objectName: name})...)
		}
		for _, id := range g.lists {
			versions = append(versions, "${"+id+":metadata.resourceVersion}")
		}
		query["resourceVersion"] = one(g, "version value", versions)
		if g.chance("match", 60) {
			query["resourceVersionMatch"] = one(g, "match value", []string{"Exact", "NotOlderThan", "Exact", "Bad", ""})
		}
	}
	if g.chance("accept", 8) {
		s.Accept = one(g, "accept value", accepts)
	}
	if len(query) > 0 {
		s.Query = query
	}
	g.lists = append(g.lists, g.step(s))
}

// update puts an object: as it was read with changes, or written anew.
func (g *generator) update() {
	o := g.object()
	s := o.step("update")
	if base, ok := g.base(o); ok && g.chance("based", 85) {
		s.Body = g.based(base, o.fields)
	} else {
		s.Body = g.whole(o, 2)
		if g.chance("other name", 3) {
			setIn(s.Body.(map[string]any), "metadata.name", one(g, "name", []string{"other", ""}))
		}
	}
	g.options(s)
	g.learned(o, g.step(s))
}

// base is a step that answered the object: mostly the last, sometimes an older.
func (g *generator) base(o object) (string, bool) {
	steps := g.seen[o.key()]
	if len(steps) == 0 {
		return "", false
	}
	if g.chance("stale", 15) {
		return one(g, "base", steps), true
	}
	id := g.step(o.step("get"))
	g.learned(o, id)
	return id, true
}

// based is an earlier answer with changes; none at all is a no-op.
func (g *generator) based(id string, fields []choice) map[string]any {
	body := map[string]any{"${base}": id}
	for _, c := range g.changes(fields, 2) {
		if c.value == nil && g.chance("delete", 50) {
			c.value = "(delete)"
		}
		body[c.path] = c.value
	}
	switch {
	case g.chance("no version", 15):
		body["metadata.resourceVersion"] = "(delete)"
	case g.chance("odd version", 3):
		body["metadata.resourceVersion"] = one(g, "version", []string{"0", "x", "999999999"})
	case g.chance("uid", 3):
		body["metadata.uid"] = one(g, "uid value", []string{"aaaaaaaa-0000-4000-8000-00000000000f", "(delete)"})
	case g.chance("kind", 2):
		body["kind"] = one(g, "kind value", []string{"Other", "(delete)"})
	case g.chance("managers", 3):
		body["metadata.managedFields"] = one(g, "managers value", []any{[]any{}, []any{map[string]any{}}, "(delete)"})
	}
	return body
}

func (g *generator) patch() {
	o := g.object()
	s := o.step("patch")
	g.patchOf(s, o, o.fields)
	g.options(s)
	if g.chance("force", 2) {
		s.Query = map[string]any{"force": "true"}
	}
	g.learned(o, g.step(s))
}

// patchOf draws a patch of the fields.
func (g *generator) patchOf(s *conformance.Step, o object, fields []choice) {
	s.Patch = one(g, "patch", []string{"merge", "strategic", "json"})
	if s.Patch == "json" {
		s.Body = g.operations(fields)
		return
	}
	body := map[string]any{}
	for _, c := range g.changes(fields, 2) {
		setIn(body, c.path, c.value)
	}
	if s.Patch == "strategic" && g.chance("directive", 15) {
		g.directive(body)
	}
	if versions := g.versions(o); len(versions) > 0 && g.chance("version", 12) {
		setIn(body, "metadata.resourceVersion", one(g, "version value", append(versions, versions[len(versions)-1], "0", "")))
	}
	if g.chance("identity", 3) {
		c := one(g, "identity value", []change{{"metadata.name", "other"}, {"metadata.namespace", "other"}, {"metadata.uid", "aaaaaaaa-0000-4000-8000-00000000000f"}, {"kind", "Other"}, {"apiVersion", "v9"}})
		setIn(body, c.path, c.value)
	}
	s.Body = body
}

func (g *generator) directive(body map[string]any) {
	c := one(g, "directive", []change{
		{"metadata.labels.$patch", "replace"}, {"metadata.labels.$patch", "delete"}, {"metadata.annotations.$retainKeys", []any{"note"}},
		{"metadata.$deleteFromPrimitiveList/finalizers", []any{"example.com/one"}},
		{"spec.containers", []any{map[string]any{"name": "c", "image": "patched:1"}}}, {"spec.containers", []any{map[string]any{"name": "e", "image": "patched:1"}}},
		{"spec.containers", []any{map[string]any{"name": "c", "$patch": "delete"}}}, {"spec.containers", []any{map[string]any{"image": "x"}}},
		{"spec.template.spec.containers", []any{map[string]any{"name": "c", "env": []any{map[string]any{"name": "A", "value": "2"}}}}},
		{"spec.ports", []any{map[string]any{"port": 80, "name": "a"}}}, {"spec.ports", []any{map[string]any{"port": 81, "name": "b"}, map[string]any{"$patch": "replace"}}},
		{"spec.tolerations", []any{map[string]any{"key": "z", "operator": "Exists"}}}, {"metadata.$setElementOrder/finalizers", []any{"example.com/two", "example.com/one"}},
	})
	if prefix, member, ok := strings.Cut(c.path, ".$"); ok {
		setIn(body, prefix+".x", nil)
		m := body
		for _, part := range strings.Split(prefix, ".") {
			m = m[part].(map[string]any)
		}
		delete(m, "x")
		m["$"+member] = c.value
		return
	}
	setIn(body, c.path, c.value)
}

// operations is a JSON patch.
func (g *generator) operations(fields []choice) []any {
	var out []any
	for _, c := range g.changes(fields, 2) {
		op := one(g, "op", []string{"add", "replace", "add", "remove", "test"})
		operation := map[string]any{"op": op, "path": "/" + strings.ReplaceAll(c.path, ".", "/")}
		if op != "remove" {
			operation["value"] = c.value
		}
		out = append(out, operation)
	}
	if g.chance("odd operation", 6) {
		out = append(out, one(g, "operation", []any{
			map[string]any{"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"},
			map[string]any{"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"},
			map[string]any{"op": "add", "path": "/nope/deep/path", "value": 1}, map[string]any{"op": "bad", "path": "/a"},
			map[string]any{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/three"}, map[string]any{"op": "replace", "path": "/metadata/name", "value": "other"},
			map[string]any{"op": "remove", "path": "/metadata/finalizers/0"}, map[string]any{"op": "test", "path": "/metadata/name", "value": "a"}, map[string]any{"path": "/a"},
		}))
	}
	if out == nil {
		out = []any{}
	}
	return out
}

func (g *generator) apply() {
	o := g.object()
	s := o.step("patch")
	s.Patch = "apply"
	body := map[string]any{}
	if g.chance("whole", 70) {
		body = parseYAML(o.base)
	}
	body["apiVersion"], body["kind"] = o.apiVersion, o.kind.name
	body["metadata"] = map[string]any{"name": o.objectName}
	if o.cluster {
		setIn(body, "metadata.labels", map[string]any{"run": "${x}"})
	}
	for _, c := range g.changes(o.fields, 2) {
		if !o.cluster || c.path != "metadata.labels" {
			setIn(body, c.path, c.value)
		}
	}
	if versions := g.versions(o); len(versions) > 0 && g.chance("version", 4) {
		setIn(body, "metadata.resourceVersion", one(g, "version value", versions))
	}
	s.Body = body
	g.options(s)
	query := map[string]any{"fieldManager": one(g, "manager name", []string{"m1", "m2", "m1"})}
	for k, v := range s.Query {
		query[k] = v
	}
	if g.chance("force", 30) {
		query["force"] = "true"
	}
	if g.chance("no manager", 2) {
		delete(query, "fieldManager")
	}
	s.Query = query
	g.learned(o, g.step(s))
}

func (g *generator) deleteOptions(o *object) any {
	if g.chance("plain", 60) {
		return nil
	}
	body := map[string]any{}
	for range rapid.IntRange(0, 2).Draw(g.t, "options") {
		c := one(g, "option", []change{
			{"propagationPolicy", "Foreground"}, {"propagationPolicy", "Orphan"}, {"propagationPolicy", "Background"}, {"gracePeriodSeconds", 0}, {"gracePeriodSeconds", 5},
			{"dryRun", []any{"All"}}, {"propagationPolicy", "Bad"}, {"orphanDependents", true}, {"gracePeriodSeconds", -1}, {"preconditions.uid", "aaaaaaaa-0000-4000-8000-00000000000f"}, {"bogus", 1},
			{"preconditions.resourceVersion", "1"},
		})
		setIn(body, c.path, c.value)
	}
	if o != nil {
		if id, ok := g.fresh(*o); ok && g.chance("precondition", 25) {
			member := one(g, "member", []string{"resourceVersion", "uid"})
			setIn(body, "preconditions."+member, "${"+id+":metadata."+member+"}")
		}
	}
	return body
}

func (g *generator) delete() {
	o := g.object()
	s := o.step("delete")
	s.Body = g.deleteOptions(&o)
	if g.chance("query", 10) {
		s.Query = one(g, "query value", []map[string]any{{"gracePeriodSeconds": 0}, {"propagationPolicy": "Foreground"}, {"dryRun": "All"}, {"gracePeriodSeconds": "x"}})
	}
	g.step(s)
}

func (g *generator) deleteCollection() {
	k := g.kind()
	s := &conformance.Step{Verb: "deletecollection", Resource: k.resource, Namespace: g.namespace(k), Body: g.deleteOptions(nil)}
	query := map[string]any{}
	g.selectors(k, query)
	if len(query) > 0 {
		s.Query = query
	}
	g.step(s)
}

func (g *generator) status() {
	o := g.object()
	if len(o.kind.status) == 0 && g.chance("something else", 80) {
		return
	}
	g.about(o, "status", o.kind.status)
}

// about reads, updates or patches a subresource.
func (g *generator) about(o object, sub string, fields []choice) {
	verb := one(g, "verb", []string{"update", "patch", "patch", "update", "get"})
	s := o.step(verb)
	s.Subresource = sub
	switch verb {
	case "update":
		read := o.step("get")
		if sub != "status" {
			read.Subresource = sub
		}
		s.Body = g.based(g.step(read), fields)
		g.options(s)
	case "patch":
		g.patchOf(s, o, fields)
		g.options(s)
	case "apply":
		s.Verb, s.Patch = "patch", "apply"
		body := map[string]any{"apiVersion": o.apiVersion, "kind": o.kind.name, "metadata": map[string]any{"name": o.objectName}}
		if sub == "scale" {
			body["apiVersion"], body["kind"] = "autoscaling/v1", "Scale"
		}
		for _, c := range g.changes(fields, 2) {
			setIn(body, c.path, c.value)
		}
		s.Body = body
		s.Query = map[string]any{"fieldManager": one(g, "manager name", []string{"m1", "m2"}), "force": one(g, "force", []string{"true", "false"})}
	}
	id := g.step(s)
	if sub == "status" {
		g.learned(o, id)
	}
}

func (g *generator) subresource() {
	o := g.object()
	if len(o.subresources) == 0 {
		return
	}
	sub := one(g, "subresource", o.subresources)
	if len(sub.bodies) == 0 {
		g.about(o, sub.name, sub.fields)
		return
	}
	s := o.step(one(g, "verb", sub.verbs))
	s.Subresource = sub.name
	if s.Verb != "get" {
		s.Body = parseYAML(one(g, "body", sub.bodies))
	}
	if g.chance("dry run", 10) {
		s.Query = map[string]any{"dryRun": "All"}
	}
	g.step(s)
}
