package fidelity

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// watch opens a watch.
func (g *generator) watch() {
	if len(g.watches) == 4 {
		return
	}
	k := g.kind()
	s := &conformance.Step{Verb: "watch", Resource: k.resource, Namespace: g.namespace(k)}
	query := map[string]any{}
	g.selectors(k, query)
	switch {
	case g.chance("initial events", 30):
		query["sendInitialEvents"], query["resourceVersionMatch"] = "true", "NotOlderThan"
		query["allowWatchBookmarks"] = one(g, "bookmarks", []string{"true", "true", "false"})
	case len(g.lists) > 0 && g.chance("from list", 60):
		query["resourceVersion"] = "${" + one(g, "list", g.lists) + ":metadata.resourceVersion}"
	case g.chance("from object", 40):
		if versions := g.versions(object{kind: k, namespace: s.Namespace, objectName: g.name(k)}); len(versions) > 0 {
			query["resourceVersion"] = one(g, "version", versions)
		}
	case g.chance("odd", 5):
		query["resourceVersion"] = "x"
	}
	if g.chance("accept", 5) {
		s.Accept = one(g, "accept value", accepts[:2])
	}
	s.Query = query
	g.watches = append(g.watches, g.step(s))
}

// look reads what the watches got.
func (g *generator) look() {
	for _, id := range g.watches {
		g.step(&conformance.Step{Verb: "events", Watch: id})
	}
}

// nonsense sends what is no request.
func (g *generator) nonsense() {
	o := g.object()
	if o.cluster {
		return
	}
	res := "/api/v1"
	group, plural, _ := strings.Cut(o.resource, "/")
	if strings.Contains(plural, "/") {
		version, rest, _ := strings.Cut(plural, "/")
		res, plural = "/apis/"+group+"/"+version, rest
	}
	collection := res + "/namespaces/" + o.namespace + "/" + plural
	body, err := json.Marshal(map[string]any{"apiVersion": o.apiVersion, "kind": o.kind.name, "metadata": map[string]any{"name": o.objectName}})
	if err != nil {
		panic(err) // texts only
	}
	text := one(g, "body", []string{"", "{", "[]", "null", `"x"`, "kind: [", string(body), string(body) + "x", `{"kind":"` + o.kind.name + `"}`, `{"apiVersion":"v1","kind":"Nope"}`, "apiVersion: " + o.apiVersion + "\nkind: " + o.kind.name + "\nmetadata: {name: " + o.objectName + "}"})
	s := &conformance.Step{Verb: "raw", Method: one(g, "method", []string{"POST", "PUT", "PATCH", "DELETE"}), Path: collection, RawBody: &text}
	if s.Method == http.MethodPut || s.Method == http.MethodPatch || g.chance("object", 30) {
		s.Path += "/" + o.objectName
	}
	s.ContentType = one(g, "type", []string{"application/json", "application/yaml", "text/plain", "application/merge-patch+json", "application/json-patch+json"})
	g.step(s)
}
