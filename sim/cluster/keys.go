package cluster

import (
	"strconv"
	"strings"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// keyTable interns the names under which requests appear in traces and in the
// scheduler, so that a call costs a map lookup instead of a string.
type keyTable struct {
	keys  map[keyParts]string
	verbs map[verbParts]string
}

type keyParts struct{ resource, namespace, name string }

type verbParts struct {
	verb apiserver.Verb
	sub  string
}

func newKeyTable() *keyTable {
	return &keyTable{keys: map[keyParts]string{}, verbs: map[verbParts]string{}}
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
	k := keyParts{resource, namespace, name}
	if s, ok := t.keys[k]; ok {
		return s
	}
	parts := []string{resource}
	if namespace != "" {
		parts = append(parts, namespace)
	}
	if name != "" {
		parts = append(parts, name)
	}
	s := strings.Join(parts, "/")
	t.keys[k] = s
	return s
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
