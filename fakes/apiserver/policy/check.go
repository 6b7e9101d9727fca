package policy

import (
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

const longestAnnotation = 5 * 1024

// Check compiles the expressions of a policy, as validation does. It returns the
// errors about match conditions and about the rest.
func Check(s *admissionv1.ValidatingAdmissionPolicySpec) (conditions, rest field.ErrorList) {
	c := checker{declared: cel.OptionalVariableDeclarations{HasParams: s.ParamKind != nil, HasAuthorizer: true}}
	c.plain = cel.NewCompiler(environments())
	c.compiler = c.plain
	p := field.NewPath("spec")
	for i, m := range s.MatchConditions {
		if e := strings.TrimSpace(m.Expression); e != "" {
			conditions = append(conditions, c.compile(c.plain, &matchconditions.MatchCondition{Expression: e}, c.declared, p.Child("matchConditions").Index(i).Child("expression"))...)
		}
	}
	if len(s.Variables) > 0 {
		composited, err := cel.NewCompositedCompiler(environments())
		if err != nil {
			return conditions, field.ErrorList{field.InternalError(p, err)}
		}
		c.compiler = composited
		rest = append(rest, c.variables(composited, s.Variables, p.Child("variables"))...)
	}
	for i := range s.Validations {
		rest = append(rest, c.validation(&s.Validations[i], p.Child("validations").Index(i))...)
	}
	for i, a := range s.AuditAnnotations {
		rest = append(rest, c.annotation(a, p.Child("auditAnnotations").Index(i).Child("valueExpression"))...)
	}
	return conditions, rest
}

type checker struct {
	plain, compiler cel.Compiler
	declared        cel.OptionalVariableDeclarations
}

func (c *checker) compile(by cel.Compiler, e cel.ExpressionAccessor, declared cel.OptionalVariableDeclarations, p *field.Path) field.ErrorList {
	if r := by.CompileCELExpression(e, declared, environment.NewExpressions); r.Error != nil {
		return field.ErrorList{fieldError(r.Error, e.GetExpression(), p)}
	}
	return nil
}

func (c *checker) variables(by *cel.CompositedCompiler, variables []admissionv1.Variable, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, v := range variables {
		if strings.TrimSpace(v.Expression) == "" {
			errs = append(errs, field.Required(p.Index(i).Child("expression"), "expression is not specified"))
			continue
		}
		r := by.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, c.declared, environment.NewExpressions)
		if r.Error != nil {
			errs = append(errs, fieldError(r.Error, v.Expression, p.Index(i).Child("expression")))
		}
	}
	return errs
}

func (c *checker) validation(v *admissionv1.Validation, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(p.Child("expression"), "expression is not specified"))
	} else {
		errs = append(errs, c.compile(c.compiler, &validating.ValidationCondition{Expression: v.Expression}, c.declared, p.Child("expression"))...)
	}
	switch blank := strings.TrimSpace(v.MessageExpression) == ""; {
	case v.MessageExpression != "" && blank:
		errs = append(errs, field.Invalid(p.Child("messageExpression"), v.MessageExpression, "must be non-empty if specified"))
	case !blank:
		declared := cel.OptionalVariableDeclarations{HasParams: c.declared.HasParams}
		errs = append(errs, c.compile(c.compiler, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}, declared, p.Child("messageExpression"))...)
	}
	if text := strings.TrimSpace(v.Message); v.Message != "" && text == "" {
		errs = append(errs, field.Invalid(p.Child("message"), v.Message, "must be non-empty if specified"))
	} else if strings.ContainsAny(text, "\n\r") {
		errs = append(errs, field.Invalid(p.Child("message"), v.Message, "must not contain line breaks"))
	}
	return errs
}

func (c *checker) annotation(a admissionv1.AuditAnnotation, p *field.Path) field.ErrorList {
	e := strings.TrimSpace(a.ValueExpression)
	switch {
	case e == "":
		return field.ErrorList{field.Required(p, "valueExpression is not specified")}
	case len(e) > longestAnnotation:
		return field.ErrorList{field.Required(p, fmt.Sprintf("must not exceed %d bytes in length", longestAnnotation))}
	}
	return c.compile(c.compiler, &validating.AuditAnnotationCondition{ValueExpression: e}, c.declared, p)
}

// fieldError is what is wrong with an expression.
func fieldError(err error, expression string, p *field.Path) *field.Error {
	var known *apiservercel.Error
	if !errors.As(err, &known) {
		return field.InternalError(p, fmt.Errorf("unsupported error type: %w", err))
	}
	switch known.Type {
	case apiservercel.ErrorTypeRequired:
		return field.Required(p, known.Detail)
	case apiservercel.ErrorTypeInvalid:
		return field.Invalid(p, expression, known.Detail)
	default:
		return field.InternalError(p, known)
	}
}

// CheckCondition compiles a match condition of a webhook, as validation does.
func CheckCondition(m admissionv1.MatchCondition, p *field.Path) field.ErrorList {
	c := checker{declared: cel.OptionalVariableDeclarations{HasAuthorizer: true}}
	return c.compile(cel.NewCompiler(environments()), &matchconditions.MatchCondition{Expression: m.Expression}, c.declared, p)
}
