package apiserver

import (
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
)

// Nobody can give away, through roles and bindings, rights that he does not hold.
// Two verbs are the way round it: escalate on the role, and bind on the role that
// a binding refers to.

// everything is what only a cluster administrator holds.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

// checkEscalation refuses a role or binding by which the user would give away what
// he does not hold. Old is nil on a create.
func (c *call) checkEscalation(obj, old Object) error {
	if c.ep.gr.Group != rbacv1.GroupName || c.req.User == nil || c.store.opts.Authorizer == nil || c.req.User.Masters() {
		return nil
	}
	if old != nil && c.onlyForCollector(obj, old) {
		return nil
	}
	switch o := obj.(type) {
	case *rbacv1.Role:
		return c.checkGrant(obj, o.Rules, false)
	case *rbacv1.ClusterRole:
		before, _ := old.(*rbacv1.ClusterRole)
		return c.checkGrant(obj, o.Rules, aggregates(o) || aggregates(before))
	case *rbacv1.RoleBinding:
		return c.checkBind(obj, o.RoleRef)
	case *rbacv1.ClusterRoleBinding:
		return c.checkBind(obj, o.RoleRef)
	}
	return nil
}

func aggregates(r *rbacv1.ClusterRole) bool {
	return r != nil && r.AggregationRule != nil && len(r.AggregationRule.ClusterRoleSelectors) > 0
}

func (c *call) rbac() *authz.RBAC { return &authz.RBAC{Rules: rules{c.store}} }

// checkGrant is about the rules of a role. An aggregation rule can gather anything.
func (c *call) checkGrant(obj Object, granted []rbacv1.PolicyRule, aggregated bool) error {
	if c.may("escalate", c.ep.Plural, c.req.Name) {
		return nil
	}
	if err := c.rbac().ConfirmHeld(c.req.User, c.ns, granted); err != nil {
		return apierrors.NewForbidden(c.ep.gr, obj.GetName(), err)
	}
	if aggregated && c.rbac().ConfirmHeld(c.req.User, c.ns, everything) != nil {
		return apierrors.NewForbidden(c.ep.gr, obj.GetName(), errors.New("must have cluster-admin privileges to use the aggregationRule"))
	}
	return nil
}

// checkBind is about the role that a binding refers to.
func (c *call) checkBind(obj Object, ref rbacv1.RoleRef) error {
	var plural string
	switch ref.Kind {
	case "ClusterRole":
		plural = "clusterroles"
	case "Role":
		plural = "roles"
	}
	if plural != "" && c.may("bind", plural, ref.Name) {
		return nil
	}
	granted, err := c.rbac().RoleRules(ref, c.ns)
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(c.ep.gr, ref.Name)
	}
	if err != nil {
		return err
	}
	if err := c.rbac().ConfirmHeld(c.req.User, c.ns, granted); err != nil {
		return apierrors.NewForbidden(c.ep.gr, obj.GetName(), err)
	}
	return nil
}

// may asks whether the user has a verb on a role.
func (c *call) may(verb, plural, name string) bool {
	ok, _ := c.store.opts.Authorizer.Authorize(&authz.Attributes{
		User: c.req.User, Verb: verb, Group: rbacv1.GroupName, Resource: plural, Namespace: c.ns, Name: name,
	})
	return ok
}

// onlyForCollector reports whether a change is one that the garbage collector
// makes: of owners and finalizers and nothing else.
func (c *call) onlyForCollector(obj, old Object) bool {
	probe := obj.DeepCopyObject().(Object)
	probe.SetOwnerReferences(old.GetOwnerReferences())
	probe.SetFinalizers(old.GetFinalizers())
	probe.SetManagedFields(old.GetManagedFields())
	probe.SetSelfLink(old.GetSelfLink())
	return c.ep.Equal(probe, old)
}
