package cluster

import (
	"strconv"
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// keyTable interns the names under which requests appear in traces and in the
// scheduler, so that a call costs a map lookup instead of a string.
type keyTable struct {
	keys  map[string]*key // by the object's name, which is nearly unique
	verbs map[verbParts]string
}

// key is one interned key; next has the same name.
type key struct {
	resource, namespace string
	text                string
	next                *key
}

type verbParts struct {
	verb apiserver.Verb
	sub  string
}

func newKeyTable() *keyTable {
	return &keyTable{keys: map[string]*key{}, verbs: map[verbParts]string{}}
}

// of returns "secrets/kube-system/x", or "nodes/node-1" for cluster-scoped
// kinds, or "secrets/kube-system" for a request without a name.
func (t *keyTable) of(req *apiserver.Request) string {
	name := req.Name
	if name == "" && req.Object != nil {
		name = req.Object.GetName()
	}
	return t.object(req.Resource.Resource, req.Namespace, name)
}

func (t *keyTable) object(resource, namespace, name string) string {
	first := t.keys[name]
	for k := first; k != nil; k = k.next {
		if k.namespace == namespace && k.resource == resource {
			return k.text
		}
	}
	parts := []string{resource}
	if namespace != "" {
		parts = append(parts, namespace)
	}
	if name != "" {
		parts = append(parts, name)
	}
	k := &key{resource, namespace, strings.Join(parts, "/"), first}
	t.keys[name] = k
	return k.text
}

// verb returns "update", or "update/status" for a subresource.
func (t *keyTable) verb(req *apiserver.Request) string {
	if req.Subresource == "" {
		return string(req.Verb)
	}
	k := verbParts{req.Verb, req.Subresource}
	s, ok := t.verbs[k]
	if !ok {
		s = string(req.Verb) + "/" + req.Subresource
		t.verbs[k] = s
	}
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }
