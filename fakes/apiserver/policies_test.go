package apiserver_test

import (
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	admissionPolicies = registrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")
	policyBindings    = registrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicybindings")
)

// policyOf is a policy about writes to ConfigMaps.
func policyOf(name string, change func(*registrationv1.ValidatingAdmissionPolicySpec)) *registrationv1.ValidatingAdmissionPolicy {
	p := &registrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.MatchConstraints = &registrationv1.MatchResources{ResourceRules: []registrationv1.NamedRuleWithOperations{{
		RuleWithOperations: registrationv1.RuleWithOperations{
			Operations: []registrationv1.OperationType{"CREATE", "UPDATE"},
			Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		},
	}}}
	change(&p.Spec)
	return p
}

// bindPolicy puts a policy into force, with what it does about violations.
func (a *api) bindPolicy(p *registrationv1.ValidatingAdmissionPolicy, action registrationv1.ValidationAction, change ...func(*registrationv1.ValidatingAdmissionPolicyBindingSpec)) {
	a.Helper()
	a.create(admissionPolicies, p, in(""))
	b := &registrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "b-" + p.Name}}
	b.Spec.PolicyName, b.Spec.ValidationActions = p.Name, []registrationv1.ValidationAction{action}
	for _, f := range change {
		f(&b.Spec)
	}
	a.create(policyBindings, b, in(""))
}

func TestRule15PoliciesRefuseWithTheirMessage(t *testing.T) {
	a := newAPI(t)
	forbidden := metav1.StatusReasonForbidden
	a.bindPolicy(policyOf("p", func(s *registrationv1.ValidatingAdmissionPolicySpec) {
		s.Variables = []registrationv1.Variable{{Name: "y", Expression: "has(object.data.y)"}}
		s.Validations = []registrationv1.Validation{
			{Expression: "object.data.x == 'ok'", MessageExpression: "'x is ' + object.data.x", Reason: &forbidden},
			{Expression: "variables.y", Message: "second"},
		}
	}), registrationv1.Deny)
	create := func(content map[string]string) *apiserver.Request {
		return a.request(apiserver.Create, configMaps, "", body(configMap("a", func(cm *corev1.ConfigMap) { cm.Data = content })))
	}
	const by = `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b-p' denied request: `
	a.refused(create(map[string]string{"x": "bad"}), 403, "Forbidden", by+"x is bad")
	a.refused(create(map[string]string{"x": "ok"}), 422, "Invalid", by+"second")
	a.refused(create(nil), 422, "Invalid", by+"expression 'object.data.x == 'ok'' resulted in error: no such key: data")
	a.must(create(map[string]string{"x": "ok", "y": ""}))
	a.refused(a.request(apiserver.Patch, configMaps, "a", merge(`{"data":{"x":"worse"}}`)), 403, "Forbidden", by+"x is worse")
	a.delete(policyBindings, "b-p", in(""))
	a.patch(configMaps, "a", `{"data":{"x":"worse"}}`)
}

func TestRule15PoliciesWarn(t *testing.T) {
	a := newAPI(t)
	a.bindPolicy(policyOf("p", func(s *registrationv1.ValidatingAdmissionPolicySpec) {
		s.Validations = []registrationv1.Validation{{Expression: "'w' in object.data", Message: "no w"}}
	}), registrationv1.Warn)
	r := a.must(a.request(apiserver.Create, configMaps, "", body(configMap("a", data("k", "v")))))
	equal(t, "warnings", r.Warnings, []string{"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b-p': no w"})
}

func TestRule15PoliciesTakeParameters(t *testing.T) {
	a := newAPI(t)
	deny := registrationv1.DenyAction
	a.bindPolicy(policyOf("p", func(s *registrationv1.ValidatingAdmissionPolicySpec) {
		s.ParamKind = &registrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
		s.Validations = []registrationv1.Validation{{Expression: "int(object.data.n) <= int(params.data.max)", MessageExpression: "'max ' + params.data.max"}}
	}), registrationv1.Deny, func(s *registrationv1.ValidatingAdmissionPolicyBindingSpec) {
		s.ParamRef = &registrationv1.ParamRef{Name: "limit", Namespace: "default", ParameterNotFoundAction: &deny}
		s.MatchResources = &registrationv1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"limited": ""}}}
	})
	limited := func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"limited": ""} }
	const by = `configmaps "m" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b-p' denied request: `
	three := a.request(apiserver.Create, configMaps, "", body(configMap("m", data("n", "3"), limited)))
	a.refused(three, 422, "Invalid", by+"failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction")
	a.create(configMaps, configMap("limit", data("max", "2")))
	a.refused(three, 422, "Invalid", by+"max 2")
	a.patch(configMaps, "limit", `{"data":{"max":"3"}}`)
	a.must(three)
}

func TestRule15PoliciesMayLookAway(t *testing.T) {
	a := newAPI(t)
	ignore := registrationv1.Ignore
	a.bindPolicy(policyOf("conditional", func(s *registrationv1.ValidatingAdmissionPolicySpec) {
		s.MatchConditions = []registrationv1.MatchCondition{{Name: "not-bob", Expression: "request.userInfo.username != 'bob'"}}
		s.Validations = []registrationv1.Validation{{Expression: "false", Message: "only bob"}}
	}), registrationv1.Deny)
	a.bindPolicy(policyOf("broken", func(s *registrationv1.ValidatingAdmissionPolicySpec) {
		s.FailurePolicy = &ignore
		s.Validations = []registrationv1.Validation{{Expression: "object.data.nosuch.x == 1"}}
	}), registrationv1.Deny)
	create := a.request(apiserver.Create, configMaps, "", body(configMap("a", data("k", "v"))))
	a.refused(create, 422, "Invalid", `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'conditional' with binding 'b-conditional' denied request: only bob`)
	create.User = &apiserver.User{Name: "bob"}
	a.must(create)
	a.create(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}) // no rule is about Secrets
}

func TestRule15PoliciesAreCompiledBeforeTheyAreStored(t *testing.T) {
	a := newAPI(t)
	bad := policyOf("bad", func(s *registrationv1.ValidatingAdmissionPolicySpec) {
		s.Validations = []registrationv1.Validation{{Expression: "1 + 2"}, {Expression: "nosuch.x == 1"}}
	})
	a.refused(a.request(apiserver.Create, admissionPolicies, "", in(""), body(bad)), 422, "Invalid",
		`ValidatingAdmissionPolicy.admissionregistration.k8s.io "bad" is invalid: [spec.validations[0].expression: Invalid value: "1 + 2": must evaluate to bool but got int, `+
			`spec.validations[1].expression: Invalid value: "nosuch.x == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nosuch' (in container '')`+"\n | nosuch.x == 1\n | ^]")
	b := &registrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}
	b.Spec.ParamRef = &registrationv1.ParamRef{}
	b.Spec.ValidationActions = []registrationv1.ValidationAction{registrationv1.Deny, registrationv1.Warn}
	a.refused(a.request(apiserver.Create, policyBindings, "", in(""), body(b)), 422, "Invalid",
		`ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io "bad" is invalid: [spec.paramRef: Required value: one of name or selector must be specified, `+
			`spec.paramRef.parameterNotFoundAction: Required value, spec.validationActions: Invalid value: ["Deny","Warn"]: `+
			`must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose), spec.policyName: Required value]`)
}

// TestRule15PoliciesAskTheAuthorizer: an expression may make a right a condition.
func TestRule15PoliciesAskTheAuthorizer(t *testing.T) {
	alice, admin := asAlice(t, may("", "configmaps", "create"))
	admin.bindPolicy(policyOf("p", func(s *registrationv1.ValidatingAdmissionPolicySpec) {
		s.Validations = []registrationv1.Validation{{Expression: "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()", Message: "readers of secrets only"}}
	}), registrationv1.Deny)
	alice.refused(alice.request(apiserver.Create, configMaps, "", body(configMap("a"))), 422, "Invalid",
		`configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b-p' denied request: readers of secrets only`)
	admin.create(configMaps, configMap("a"))
}
