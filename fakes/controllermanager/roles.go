package controllermanager

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var clusterRolesGVR = rbacv1.SchemeGroupVersion.WithResource("clusterroles")

// aggregation fills ClusterRoles that have an aggregationRule with the rules of those
// that it selects.
type aggregation struct {
	m    *Manager
	loop *Loop
}

func newAggregation(m *Manager) controller {
	c := &aggregation{m: m}
	c.loop = &Loop{Name: ClusterRoleAggregation, Workers: 5, Reconcile: c.reconcile}
	return c
}

func (c *aggregation) loops() []*Loop { return []*Loop{c.loop} }

func (c *aggregation) watches(r *apiserver.Resource) bool { return r.GVR() == clusterRolesGVR }

// observe looks at all of them again: any may select any.
func (c *aggregation) observe(*resource, apiserver.Object, apiserver.Object) {
	for _, role := range cachedList[*rbacv1.ClusterRole](c.m, clusterRolesGVR, "") {
		if role.AggregationRule != nil {
			c.loop.add("", role.Name)
		}
	}
}

func (c *aggregation) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	role, found := cached[*rbacv1.ClusterRole](c.m, clusterRolesGVR, "", req.Name)
	if !found || role.AggregationRule == nil {
		return reconcile.Result{}, nil
	}
	rules, err := c.rules(role)
	if err != nil || equality.Semantic.DeepEqual(rules, role.Rules) {
		return reconcile.Result{}, err
	}
	if err := c.write(ctx, role, rules); err != nil {
		return reconcile.Result{}, fmt.Errorf("aggregate clusterrole %s: %w", role.Name, err)
	}
	return reconcile.Result{}, nil
}

// rules returns the rules that the role should have.
func (c *aggregation) rules(role *rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	rules := []rbacv1.PolicyRule{}
	all := cachedList[*rbacv1.ClusterRole](c.m, clusterRolesGVR, "")
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, fmt.Errorf("selector %d of clusterrole %s: %w", i, role.Name, err)
		}
		for _, source := range all {
			if source.Name == role.Name || !selector.Matches(labels.Set(source.Labels)) {
				continue
			}
			for _, rule := range source.Rules {
				if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}

// write applies the rules, by force and as a manager of its own.
func (c *aggregation) write(ctx context.Context, role *rbacv1.ClusterRole, rules []rbacv1.PolicyRule) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": "ClusterRole",
		"metadata": map[string]any{"name": role.Name}, "rules": rules,
	})
	if err != nil {
		return err
	}
	force := true
	_, err = c.m.call(ctx, &apiserver.Request{
		Verb: apiserver.Patch, Resource: clusterRolesGVR, Name: role.Name, PatchType: types.ApplyPatchType, Body: body,
		FieldManager: ClusterRoleAggregation, Force: &force,
	})
	return err
}
