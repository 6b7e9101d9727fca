package registry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validation of probes and of what runs at the beginning and end of a container.

// handler is what a probe or a hook does.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

// validateRunning checks the probes and hooks of a container.
func validateRunning(c *corev1.Container, s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	grace := s.TerminationGracePeriodSeconds
	if l := c.Lifecycle; l != nil {
		at := p.Child("lifecycle")
		for _, hook := range []struct {
			name string
			of   *corev1.LifecycleHandler
		}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
			if h := hook.of; h != nil {
				errs = append(errs, validateHandler(handler{exec: h.Exec, http: h.HTTPGet, tcp: h.TCPSocket, sleep: h.Sleep}, grace, at.Child(hook.name))...)
			}
		}
		if l.StopSignal != nil && s.OS == nil {
			errs = append(errs, field.Forbidden(at.Child("stopSignal"), "may not be set for containers with empty `spec.os.name`"))
		}
	}
	errs = append(errs, validateProbe(c.LivenessProbe, grace, p.Child("livenessProbe"), false)...)
	errs = append(errs, validateProbe(c.ReadinessProbe, grace, p.Child("readinessProbe"), true)...)
	return append(errs, validateProbe(c.StartupProbe, grace, p.Child("startupProbe"), false)...)
}

func validateProbe(probe *corev1.Probe, grace *int64, p *field.Path, readiness bool) field.ErrorList {
	if probe == nil {
		return nil
	}
	errs := validateHandler(handler{exec: probe.Exec, http: probe.HTTPGet, tcp: probe.TCPSocket, grpc: probe.GRPC}, grace, p)
	for _, number := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds}, {"timeoutSeconds", probe.TimeoutSeconds}, {"periodSeconds", probe.PeriodSeconds},
		{"successThreshold", probe.SuccessThreshold}, {"failureThreshold", probe.FailureThreshold},
	} {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(number.value), p.Child(number.name))...)
	}
	at := p.Child("terminationGracePeriodSeconds")
	if own := probe.TerminationGracePeriodSeconds; own != nil && *own <= 0 {
		errs = append(errs, field.Invalid(at, *own, "must be greater than 0"))
	}
	switch {
	case readiness && probe.TerminationGracePeriodSeconds != nil:
		errs = append(errs, field.Invalid(at, probe.TerminationGracePeriodSeconds, "must not be set for readinessProbes"))
	case !readiness && probe.SuccessThreshold != 1:
		errs = append(errs, field.Invalid(p.Child("successThreshold"), probe.SuccessThreshold, "must be 1"))
	}
	return errs
}

func validateHandler(h handler, grace *int64, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	found := false
	add := func(name string, set bool, check func(*field.Path) field.ErrorList) {
		switch {
		case !set:
		case found:
			errs = append(errs, field.Forbidden(p.Child(name), "may not specify more than 1 handler type"))
		default:
			found = true
			errs = append(errs, check(p.Child(name))...)
		}
	}
	add("exec", h.exec != nil, func(p *field.Path) field.ErrorList {
		if len(h.exec.Command) > 0 {
			return nil
		}
		return field.ErrorList{field.Required(p.Child("command"), "")}
	})
	add("httpGet", h.http != nil, func(p *field.Path) field.ErrorList { return validateHTTPGet(h.http, p) })
	add("tcpSocket", h.tcp != nil, func(p *field.Path) field.ErrorList { return portNumberOrName(h.tcp.Port, p.Child("port")) })
	add("grpc", h.grpc != nil, func(p *field.Path) field.ErrorList {
		return portNumberOrName(intstr.FromInt32(h.grpc.Port), p.Child("port"))
	})
	add("sleep", h.sleep != nil, func(p *field.Path) field.ErrorList {
		if grace == nil || h.sleep.Seconds >= 0 && h.sleep.Seconds <= *grace {
			return nil
		}
		return field.ErrorList{field.Invalid(p, h.sleep.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))}
	})
	if !found {
		errs = append(errs, field.Required(p, "must specify a handler type"))
	}
	return errs
}

func validateHTTPGet(h *corev1.HTTPGetAction, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if h.Path == "" {
		errs = append(errs, field.Required(p.Child("path"), ""))
	}
	errs = append(errs, portNumberOrName(h.Port, p.Child("port"))...)
	errs = append(errs, supported(p.Child("scheme"), h.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
	for i := range h.HTTPHeaders {
		for _, msg := range validation.IsHTTPHeaderName(h.HTTPHeaders[i].Name) {
			errs = append(errs, field.Invalid(p.Child("httpHeaders"), h.HTTPHeaders[i].Name, msg))
		}
	}
	return errs
}
