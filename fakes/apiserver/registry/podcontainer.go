package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validation of containers.

func validateContainers(list []corev1.Container, s *corev1.PodSpec, volumes podVolumes, taken map[string]bool, p *field.Path) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	for i := range list {
		c, at := &list[i], p.Index(i)
		errs = append(errs, validateContainer(c, s, volumes, at)...)
		if taken[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		taken[c.Name] = true
	}
	return errs
}

// validateMainContainers checks the containers that are neither for the beginning nor
// for debugging.
func validateMainContainers(s *corev1.PodSpec, volumes podVolumes, taken map[string]bool, p *field.Path) field.ErrorList {
	errs := validateContainers(s.Containers, s, volumes, taken, p)
	for i := range s.Containers {
		errs = append(errs, validateRunning(&s.Containers[i], s, p.Index(i))...)
		errs = append(errs, known(p.Index(i).Child("restartPolicy"), s.Containers[i].RestartPolicy, restartPolicies...)...)
	}
	return append(errs, validateHostPorts(s.Containers, p)...)
}

var restartPolicies = []corev1.ContainerRestartPolicy{corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure}

func validateInitContainers(s *corev1.PodSpec, volumes podVolumes, taken map[string]bool, p *field.Path) field.ErrorList {
	if len(s.InitContainers) == 0 {
		return nil
	}
	errs := validateContainers(s.InitContainers, s, volumes, taken, p)
	for i := range s.InitContainers {
		c, at := &s.InitContainers[i], p.Index(i)
		errs = append(errs, known(at.Child("restartPolicy"), c.RestartPolicy, restartPolicies...)...)
		errs = append(errs, validateHostPorts(s.InitContainers[i:i+1], p)...)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			errs = append(errs, validateRunning(c, s, at)...)
			continue
		}
		for _, f := range []struct {
			name string
			set  bool
		}{{"lifecycle", c.Lifecycle != nil}, {"livenessProbe", c.LivenessProbe != nil}, {"readinessProbe", c.ReadinessProbe != nil}, {"startupProbe", c.StartupProbe != nil}} {
			if f.set {
				errs = append(errs, field.Forbidden(at.Child(f.name), "may not be set for init containers without restartPolicy=Always"))
			}
		}
		for j, policy := range c.ResizePolicy {
			if policy.RestartPolicy == corev1.RestartContainer {
				errs = append(errs, field.Invalid(at.Child("resizePolicy").Index(j).Child("restartPolicy"), policy.RestartPolicy,
					"must not be set to 'RestartContainer' for non-sidecar initContainers"))
			}
		}
	}
	return errs
}

// validateContainer checks what all kinds of containers have.
func validateContainer(c *corev1.Container, s *corev1.PodSpec, volumes podVolumes, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), ""))
	} else {
		errs = append(errs, dnsLabel(c.Name, p.Child("name"))...)
	}
	if c.Image == "" {
		errs = append(errs, field.Required(p.Child("image"), ""))
	}
	errs = append(errs, oneOf(p.Child("terminationMessagePolicy"), c.TerminationMessagePolicy, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, validatePorts(c.Ports, p.Child("ports"))...)
	errs = append(errs, validateEnv(c.Env, p.Child("env"))...)
	errs = append(errs, validateEnvFrom(c.EnvFrom, p.Child("envFrom"))...)
	errs = append(errs, validateMounts(c, volumes, p.Child("volumeMounts"))...)
	errs = append(errs, validateDevices(c, volumes, p.Child("volumeDevices"))...)
	errs = append(errs, oneOf(p.Child("imagePullPolicy"), c.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	errs = append(errs, validateResources(&c.Resources, p.Child("resources"))...)
	errs = append(errs, validateResizePolicies(c.ResizePolicy, s.RestartPolicy, p.Child("resizePolicy"))...)
	return append(errs, validateSecurity(c.SecurityContext, s, p.Child("securityContext"))...)
}

// validateImages checks what a template may leave to the pod.
func validateImages(list []corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		if image := list[i].Image; strings.TrimSpace(image) != image {
			errs = append(errs, field.Invalid(p.Index(i).Child("image"), image, "must not have leading or trailing whitespace"))
		}
	}
	return errs
}

func validatePorts(list []corev1.ContainerPort, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i := range list {
		port, at := &list[i], p.Index(i)
		if port.Name != "" {
			wrong := validation.IsValidPortName(port.Name)
			for _, msg := range wrong {
				errs = append(errs, field.Invalid(at.Child("name"), port.Name, msg))
			}
			if len(wrong) == 0 && names[port.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names[port.Name] = len(wrong) == 0
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, validatePortNumber(port.ContainerPort, at.Child("containerPort"))...)
		}
		if port.HostPort != 0 {
			errs = append(errs, validatePortNumber(port.HostPort, at.Child("hostPort"))...)
		}
		errs = append(errs, oneOf(at.Child("protocol"), port.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
	}
	return errs
}

func validatePortNumber(port int32, p *field.Path) field.ErrorList {
	if port > 0 && port <= 65535 {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range validation.IsValidPortNum(int(port)) {
		errs = append(errs, field.Invalid(p, port, msg))
	}
	return errs
}

// validateHostPorts checks that no two ports want to be the same one of the node.
func validateHostPorts(list []corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range list {
		for j, port := range list[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if seen[key] {
				errs = append(errs, field.Duplicate(p.Index(i).Child("ports").Index(j).Child("hostPort"), key))
			}
			seen[key] = true
		}
	}
	return errs
}

func validateMounts(c *corev1.Container, volumes podVolumes, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range c.VolumeMounts {
		m, at := &c.VolumeMounts[i], p.Index(i)
		if m.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if volumes[m.Name] == nil {
			errs = append(errs, field.NotFound(at.Child("name"), m.Name))
		}
		if m.MountPath == "" {
			errs = append(errs, field.Required(at.Child("mountPath"), ""))
		}
		if seen[m.MountPath] {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must be unique"))
		}
		seen[m.MountPath] = true
		for _, d := range c.VolumeDevices {
			if d.Name == m.Name {
				errs = append(errs, field.Invalid(at.Child("name"), m.Name, "must not already exist in volumeDevices"))
			}
			if d.DevicePath == m.MountPath {
				errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must not already exist as a path in volumeDevices"))
			}
		}
		// The paths of these lack the index on a real server too.
		errs = append(errs, validateDescending(m.SubPath, p.Child("subPath"))...)
		if m.SubPathExpr != "" && m.SubPath != "" {
			errs = append(errs, field.Invalid(at.Child("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive"))
		}
		errs = append(errs, validateDescending(m.SubPathExpr, p.Child("subPathExpr"))...)
		errs = append(errs, validatePropagation(m, c, p)...)
	}
	return errs
}

func validatePropagation(m *corev1.VolumeMount, c *corev1.Container, p *field.Path) field.ErrorList {
	at := p.Child("mountPropagation")
	errs := known(at, m.MountPropagation, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
	if m.MountPropagation != nil && *m.MountPropagation == corev1.MountPropagationBidirectional && (c.SecurityContext == nil || !isTrue(c.SecurityContext.Privileged)) {
		errs = append(errs, field.Forbidden(at, "Bidirectional mount propagation is available only to privileged containers"))
	}
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return errs
	}
	at = p.Child("recursiveReadOnly")
	if wrong := supported(at, *m.RecursiveReadOnly, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible); len(wrong) > 0 {
		return append(errs, wrong...)
	}
	if !m.ReadOnly {
		errs = append(errs, field.Forbidden(at, "may only be specified when readOnly is true"))
	}
	if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
		errs = append(errs, field.Forbidden(at, "may only be specified when mountPropagation is None or not specified"))
	}
	return errs
}

func validateDevices(c *corev1.Container, volumes podVolumes, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	names, paths := map[string]bool{}, map[string]bool{}
	for i, d := range c.VolumeDevices {
		at := p.Index(i)
		if d.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if d.Name != "" && names[d.Name] {
			errs = append(errs, field.Invalid(at.Child("name"), d.Name, "must be unique"))
		}
		switch v := volumes[d.Name]; {
		case v == nil:
			errs = append(errs, field.NotFound(at.Child("name"), d.Name))
		case v.PersistentVolumeClaim == nil && v.Ephemeral == nil:
			errs = append(errs, field.Invalid(at.Child("name"), d.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		if d.DevicePath == "" {
			errs = append(errs, field.Required(at.Child("devicePath"), ""))
		}
		if paths[d.DevicePath] {
			errs = append(errs, field.Invalid(at.Child("devicePath"), d.DevicePath, "must be unique"))
		}
		if slices.Contains(strings.Split(d.DevicePath, "/"), "..") {
			errs = append(errs, field.Invalid(at.Child("devicePath"), d.DevicePath, "can not contain backsteps ('..')"))
		} else {
			paths[d.DevicePath] = true
		}
		for _, m := range c.VolumeMounts {
			if m.Name == d.Name {
				errs = append(errs, field.Invalid(at.Child("name"), d.Name, "must not already exist in volumeMounts"))
			}
			if m.MountPath == d.DevicePath {
				errs = append(errs, field.Invalid(at.Child("devicePath"), d.DevicePath, "must not already exist as a path in volumeMounts"))
			}
		}
		names[d.Name] = true
	}
	return errs
}

// validateDescending checks that a path stays below where it begins.
func validateDescending(path string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.HasPrefix(path, "/") {
		errs = append(errs, field.Invalid(p, path, "must be a relative path"))
	}
	return append(errs, validateNoBacksteps(path, p)...)
}

func validateNoBacksteps(path string, p *field.Path) field.ErrorList {
	if slices.Contains(strings.Split(path, "/"), "..") {
		return field.ErrorList{field.Invalid(p, path, "must not contain '..'")}
	}
	return nil
}

func validateResources(r *corev1.ResourceRequirements, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		name string
		of   corev1.ResourceList
	}{{"limits", r.Limits}, {"requests", r.Requests}} {
		for _, name := range slices.Sorted(maps.Keys(list.of)) {
			q := list.of[name]
			at := p.Child(list.name).Key(string(name))
			errs = append(errs, validateResourceName(name, at)...)
			if q.Sign() < 0 {
				errs = append(errs, field.Invalid(at, q.String(), apivalidation.IsNegativeErrorMsg))
			}
			if strings.Contains(string(name), "/") && q.MilliValue()%1000 != 0 {
				errs = append(errs, field.Invalid(at, q, "must be an integer"))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		limit, ok := r.Limits[name]
		switch fixed := strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix); {
		case ok && fixed && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(p.Child("requests"), request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case ok && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(p.Child("requests"), request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		case !ok && fixed:
			errs = append(errs, field.Required(p.Child("limits"), "Limit must be set for non overcommitable resources"))
		}
	}
	return sorted(errs)
}

func validateResourceName(name corev1.ResourceName, p *field.Path) field.ErrorList {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return nil
	}
	var errs field.ErrorList
	for _, msg := range validation.IsQualifiedName(string(name)) {
		errs = append(errs, field.Invalid(p, name, msg))
	}
	domain, _, extended := strings.Cut(string(name), "/")
	switch {
	case !extended && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		errs = append(errs, field.Invalid(p, name, "must be a standard resource for containers"))
	case extended && domain != "kubernetes.io" && strings.HasPrefix(domain, corev1.DefaultResourceRequestsPrefix):
		errs = append(errs, field.Invalid(p, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

func validateResizePolicies(list []corev1.ContainerResizePolicy, restart corev1.RestartPolicy, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.ResourceName]bool{}
	for i, policy := range list {
		if seen[policy.ResourceName] {
			errs = append(errs, field.Duplicate(p.Index(i), policy.ResourceName))
		}
		seen[policy.ResourceName] = true
		errs = append(errs, oneOf(p, policy.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)...)
		errs = append(errs, oneOf(p, policy.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)...)
		if restart == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			errs = append(errs, field.Invalid(p, policy.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
		}
	}
	return errs
}
