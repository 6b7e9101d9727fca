package policy

import (
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// environments is built once: it takes tens of milliseconds, and is immutable.
var environments = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// Policy is a compiled policy.
type Policy struct {
	spec      *admissionv1.ValidatingAdmissionPolicy
	validator validating.Validator
}

// Compile compiles a policy, which must not change afterwards. Errors in its
// expressions show when it is evaluated.
func Compile(p *admissionv1.ValidatingAdmissionPolicy) *Policy {
	return &Policy{spec: p, validator: compile(p)}
}

func compile(p *admissionv1.ValidatingAdmissionPolicy) validating.Validator {
	s := &p.Spec
	compiler, err := cel.NewCompositedCompiler(environments())
	if err != nil {
		return validating.NewValidator(nil, nil, nil, nil, s.FailurePolicy, err)
	}
	all := cel.OptionalVariableDeclarations{HasParams: s.ParamKind != nil, HasAuthorizer: true}
	messages := cel.OptionalVariableDeclarations{HasParams: s.ParamKind != nil}
	const stored = environment.StoredExpressions
	var variables []cel.NamedExpressionAccessor
	for _, v := range s.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	compiler.CompileAndStoreVariables(variables, all, stored)
	var matcher matchconditions.Matcher
	if len(s.MatchConditions) > 0 {
		conditions := make([]cel.ExpressionAccessor, len(s.MatchConditions))
		for i := range s.MatchConditions {
			conditions[i] = (*matchconditions.MatchCondition)(&s.MatchConditions[i])
		}
		matcher = matchconditions.NewMatcher(compiler.CompileCondition(conditions, all, stored), s.FailurePolicy, "policy", "validate", p.Name)
	}
	validations := make([]cel.ExpressionAccessor, len(s.Validations))
	texts := make([]cel.ExpressionAccessor, len(s.Validations))
	for i, v := range s.Validations {
		validations[i] = &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}
		if v.MessageExpression != "" {
			texts[i] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	annotations := make([]cel.ExpressionAccessor, len(s.AuditAnnotations))
	for i, a := range s.AuditAnnotations {
		annotations[i] = &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression}
	}
	return validating.NewValidator(compiler.CompileCondition(validations, all, stored), matcher,
		compiler.CompileCondition(annotations, all, stored), compiler.CompileCondition(texts, messages, stored), s.FailurePolicy, nil)
}
