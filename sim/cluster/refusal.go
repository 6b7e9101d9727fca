package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
)

// Refusal is a permission that a process lacked: its API requests with a verb on a
// resource were forbidden.
type Refusal struct {
	Process string
	User    string

	Verb      string
	Resource  string // with group and subresource: "deployments.apps/scale"
	Namespace string // of the first request; empty at the cluster scope
	Name      string // of the first request; empty for lists and creates

	At    time.Duration // of the first request
	Count int
}

// String is one line: who was refused what.
func (r *Refusal) String() string {
	what := r.Resource
	if r.Name != "" {
		what += " " + r.Name
	}
	where := "at the cluster scope"
	if r.Namespace != "" {
		where = "in the namespace " + r.Namespace
	}
	return fmt.Sprintf("process %s (%s) was refused: %s %s %s", r.Process, r.User, r.Verb, what, where)
}

// Refusals returns the permissions that processes have lacked so far, each once, in
// the order in which they were first missed. There are none without authorization:
// see [Config].API.
func (c *Cluster) Refusals() []Refusal { return slices.Clone(c.refusals) }

// refused notes that the API server forbids the request that it is carrying out.
func (c *Cluster) refused(a *authz.Attributes) {
	if c.serving == nil {
		return // not a process of the cluster
	}
	resource := a.Resource
	if a.Group != "" {
		resource += "." + a.Group
	}
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	for i := range c.refusals {
		r := &c.refusals[i]
		if r.Process == c.serving.name && r.Verb == a.Verb && r.Resource == resource {
			r.Count++
			return
		}
	}
	c.refusals = append(c.refusals, Refusal{
		Process: c.serving.name, User: a.User.Name, Verb: a.Verb, Resource: resource, Namespace: a.Namespace, Name: a.Name,
		At: c.eng.Elapsed(), Count: 1,
	})
	c.eng.Touch() // properties may look at it
}
