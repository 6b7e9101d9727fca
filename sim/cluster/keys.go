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
	resource, namespace, name string
	text                      string
	next                      *key
	traffic                   traffic
}

func (k *key) is(resource, namespace, name string) bool {
	return k.name == name && k.namespace == namespace && k.resource == resource
}

// recentKeys are the last two keys of a process, the latest first. Most requests
// are about one of them, and looking there touches less memory than the table.
type recentKeys [2]*key

func (r *recentKeys) of(t *keyTable, resource, namespace, name string) *key {
	if k := r[0]; k != nil && k.is(resource, namespace, name) {
		return k
	}
	k := r[1]
	if k == nil || !k.is(resource, namespace, name) {
		k = t.key(resource, namespace, name)
	}
	r[0], r[1] = k, r[0]
	return k
}

type verbParts struct {
	verb apiserver.Verb
	sub  string
}

func newKeyTable() *keyTable {
	return &keyTable{keys: map[string]*key{}, verbs: map[verbParts]string{}}
}

// object returns "secrets/kube-system/x", or "nodes/node-1" for cluster-scoped
// kinds, or "secrets/kube-system" without a name.
func (t *keyTable) object(resource, namespace, name string) string {
	return t.key(resource, namespace, name).text
}

// of is the key of what a request is about.
func (t *keyTable) of(req *apiserver.Request) string {
	return t.object(req.Resource.Resource, req.Namespace, target(req))
}

func (t *keyTable) key(resource, namespace, name string) *key {
	first := t.keys[name]
	for k := first; k != nil; k = k.next {
		if k.is(resource, namespace, name) {
			return k
		}
	}
	k := &key{resource, namespace, name, keyText(resource, namespace, name), first, traffic{}}
	t.keys[name] = k
	return k
}

func keyText(resource, namespace, name string) string {
	parts := []string{resource}
	if namespace != "" {
		parts = append(parts, namespace)
	}
	if name != "" {
		parts = append(parts, name)
	}
	return strings.Join(parts, "/")
}

// target is the name of what a request is about.
func target(req *apiserver.Request) string {
	if req.Name == "" && req.Object != nil {
		return req.Object.GetName()
	}
	return req.Name
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
