package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// parts are requests to the subresources that take objects of their own kinds.
func parts(a *api) []*apiserver.Request {
	name := metav1.ObjectMeta{Name: "p"}
	return []*apiserver.Request{
		a.request(apiserver.Create, pods, "p", sub("binding"), body(&corev1.Binding{ObjectMeta: name, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}})),
		a.request(apiserver.Create, pods, "p", sub("eviction"), body(&policyv1.Eviction{ObjectMeta: name}), dryRun),
		a.request(apiserver.Create, serviceAccounts, "sa", sub("token"), body(&authenticationv1.TokenRequest{})),
		a.request(apiserver.Update, deployments, "d", sub("scale"), body(&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}})),
		a.request(apiserver.Patch, deployments, "d", sub("scale"), merge(`{"spec":{"replicas":3}}`)),
	}
}

func withParts(t *testing.T) *api {
	a := newAPI(t)
	a.create(pods, pod("p", ""))
	a.create(serviceAccounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "sa"}})
	a.create(deployments, deployment("d"))
	return a
}

var onParts = admission.Match{
	Operations: []admission.Operation{"*"}, Groups: []string{"*"}, Versions: []string{"*"},
	Resources: []string{"pods/*", "serviceaccounts/*", "deployments/scale"},
}

// TestRule15HooksSeeWhatSubresourcesTake: the object is that of the subresource, under
// the name of the resource.
func TestRule15HooksSeeWhatSubresourcesTake(t *testing.T) {
	a := withParts(t)
	var seen []string
	look := func(r *admission.Review) admission.Answer {
		seen = append(seen, fmt.Sprintf("%s %s %s/%s %s/%s old=%v %s", r.Operation, r.Kind.Kind, r.Resource.Resource, r.Subresource, r.Object.GetNamespace(), r.Object.GetName(), r.Old != nil, strings.TrimPrefix(fmt.Sprintf("%T", r.Object), "*")))
		return admission.Answer{}
	}
	a.Store().Hook(admission.Hook{Name: "h.example.com", Match: onParts, Validate: look})
	for _, r := range parts(a) {
		a.must(r)
	}
	equal(t, "reviews", seen, []string{
		"CREATE Binding pods/binding default/p old=false v1.Binding",
		"CREATE Eviction pods/eviction default/p old=false v1.Eviction",
		"CREATE TokenRequest serviceaccounts/token default/sa old=false v1.TokenRequest",
		"UPDATE Scale deployments/scale default/d old=true v1.Scale",
		"UPDATE Scale deployments/scale default/d old=true v1.Scale",
	})
}

func TestRule15SubresourcesAreRefused(t *testing.T) {
	a := withParts(t)
	a.Store().Hook(admission.Hook{Name: "h.example.com", Match: onParts, Validate: func(*admission.Review) admission.Answer { return admission.Deny("no") }})
	for _, r := range parts(a) {
		a.refused(r, 403, "Forbidden", `admission webhook "h.example.com" denied the request: no`)
	}
	equal(t, "node", a.get(pods, "p").(*corev1.Pod).Spec.NodeName, "")
}

func TestRule15HooksChangeWhatSubresourcesTake(t *testing.T) {
	a := withParts(t)
	a.Store().Hook(admission.Hook{Name: "h.example.com", Match: onParts, Mutate: func(r *admission.Review) admission.Answer {
		switch o := r.Object.(type) {
		case *corev1.Binding:
			o.Target.Name = "n2"
		case *autoscalingv1.Scale:
			o.Spec.Replicas = 7
		}
		return admission.Answer{}
	}})
	for _, r := range parts(a) {
		a.must(r)
	}
	equal(t, "node", a.get(pods, "p").(*corev1.Pod).Spec.NodeName, "n2")
	equal(t, "replicas", a.must(a.request(apiserver.Get, deployments, "d", sub("scale"))).Object.(*autoscalingv1.Scale).Spec.Replicas, int32(7))
}

// TestRule15PoliciesSeeWhatSubresourcesTake has the texts of a real server.
func TestRule15PoliciesSeeWhatSubresourcesTake(t *testing.T) {
	a := withParts(t)
	rule := registrationv1.RuleWithOperations{
		Operations: []registrationv1.OperationType{"*"},
		Rule:       registrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: onParts.Resources},
	}
	p := &registrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.MatchConstraints = &registrationv1.MatchResources{ResourceRules: []registrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}}}
	p.Spec.Validations = []registrationv1.Validation{{Expression: "false", MessageExpression: "request.operation + ' ' + request.kind.kind + ' ' + request.resource.resource + ' ' + " +
		"request.subResource + ' ' + object.kind + ' ' + object.apiVersion + ' ' + (oldObject == null ? 'null' : oldObject.kind) + ' ' + request.name"}}
	a.bindPolicy(p, registrationv1.Deny)
	for i, want := range []string{
		`pods "p" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b-p' denied request: CREATE Binding pods binding Binding v1 null p`,
		`pods "p" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b-p' denied request: CREATE Eviction pods eviction Eviction policy/v1 null p`,
		`serviceaccounts "sa" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b-p' denied request: CREATE TokenRequest serviceaccounts token TokenRequest authentication.k8s.io/v1 null sa`,
		`deployments.apps "d" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b-p' denied request: UPDATE Scale deployments scale Scale autoscaling/v1 Scale d`,
		`deployments.apps "d" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b-p' denied request: UPDATE Scale deployments scale Scale autoscaling/v1 Scale d`,
	} {
		a.refused(parts(a)[i], 422, "Invalid", want)
	}
}
