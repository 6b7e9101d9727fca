package policy

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Conditions are the compiled match conditions of a webhook.
type Conditions struct{ matcher matchconditions.Matcher }

// CompileConditions compiles the match conditions of a webhook. Errors in them show
// when they are evaluated.
func CompileConditions(list []admissionv1.MatchCondition, failure admissionv1.FailurePolicyType, webhook string) (*Conditions, error) {
	compiler, err := cel.NewCompositedCompiler(environments())
	if err != nil {
		return nil, err
	}
	conditions := make([]cel.ExpressionAccessor, len(list))
	for i := range list {
		conditions[i] = (*matchconditions.MatchCondition)(&list[i])
	}
	compiled := compiler.CompileCondition(conditions, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
	return &Conditions{matchconditions.NewMatcher(compiled, &failure, "webhook", "admission", webhook)}, nil
}

// Meets reports whether a request meets all conditions. The error says why that
// cannot be told, unless the failure policy is to ignore it.
func (c *Conditions) Meets(a admission.Attributes, authorizer authorizer.UnconditionalAuthorizer) (bool, error) {
	versioned := &admission.VersionedAttributes{Attributes: a, VersionedKind: a.GetKind()}
	if obj := a.GetObject(); obj != nil {
		versioned.VersionedObject.Set(obj)
	}
	if old := a.GetOldObject(); old != nil {
		versioned.VersionedOldObject.Set(old)
	}
	result := c.matcher.Match(context.Background(), versioned, nil, authorizer)
	return result.Matches, result.Error
}
