package registry

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validation of what containers are told about.

func validateEnv(list []corev1.EnvVar, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		e, at := &list[i], p.Index(i)
		if e.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			for _, msg := range validation.IsRelaxedEnvVarName(e.Name) {
				errs = append(errs, field.Invalid(at.Child("name"), e.Name, msg))
			}
		}
		if e.ValueFrom != nil {
			errs = append(errs, validateEnvSource(e, at.Child("valueFrom"))...)
		}
	}
	return errs
}

func validateEnvSource(e *corev1.EnvVar, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	from, sources := e.ValueFrom, 0
	if from.FieldRef != nil {
		sources++
		errs = append(errs, validateFieldRef(from.FieldRef, envFieldPaths, p.Child("fieldRef"))...)
	}
	if from.ResourceFieldRef != nil {
		sources++
		errs = append(errs, validateResourceFieldRef(from.ResourceFieldRef, p.Child("resourceFieldRef"), false)...)
	}
	if from.ConfigMapKeyRef != nil {
		sources++
		errs = append(errs, validateKeyRef(from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, p.Child("configMapKeyRef"))...)
	}
	if from.SecretKeyRef != nil {
		sources++
		errs = append(errs, validateKeyRef(from.SecretKeyRef.Name, from.SecretKeyRef.Key, p.Child("secretKeyRef"))...)
	}
	if from.FileKeyRef != nil {
		sources++
	}
	switch {
	case sources == 0:
		errs = append(errs, field.Invalid(p, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case e.Value != "":
		errs = append(errs, field.Invalid(p, "", "may not be specified when `value` is not empty"))
	case sources > 1:
		errs = append(errs, field.Invalid(p, "", "may not have more than one field specified at a time"))
	}
	return errs
}

func validateKeyRef(name, key string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range apivalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(p.Child("name"), name, msg))
	}
	return append(errs, validateDataKey(key, p.Child("key"))...)
}

func validateDataKey(key string, p *field.Path) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	for _, msg := range validation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(p, key, msg))
	}
	return errs
}

func validateEnvFrom(list []corev1.EnvFromSource, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		e, at := &list[i], p.Index(i)
		if e.Prefix != "" {
			for _, msg := range validation.IsRelaxedEnvVarName(e.Prefix) {
				errs = append(errs, field.Invalid(at.Child("prefix"), e.Prefix, msg))
			}
		}
		sources := 0
		if e.ConfigMapRef != nil {
			sources++
			errs = append(errs, validateRequiredName(e.ConfigMapRef.Name, at.Child("configMapRef", "name"))...)
		}
		if e.SecretRef != nil {
			sources++
			errs = append(errs, validateRequiredName(e.SecretRef.Name, at.Child("secretRef", "name"))...)
		}
		switch { // without the index, as a real server has it
		case sources == 0:
			errs = append(errs, field.Invalid(p, "", "must specify one of: `configMapRef` or `secretRef`"))
		case sources > 1:
			errs = append(errs, field.Invalid(p, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

func validateRequiredName(name string, p *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	for _, msg := range apivalidation.NameIsDNSSubdomain(name, true) {
		errs = append(errs, field.Invalid(p, name, msg))
	}
	return errs
}

var (
	envFieldPaths    = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	volumeFieldPaths = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
	fieldPaths       = append([]string{"metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"}, envFieldPaths...)
	resourcePaths    = []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"}
)

func validateFieldRef(ref *corev1.ObjectFieldSelector, allowed []string, p *field.Path) field.ErrorList {
	path := ref.FieldPath
	switch {
	case ref.APIVersion == "":
		return field.ErrorList{field.Required(p.Child("apiVersion"), "")}
	case path == "":
		return field.ErrorList{field.Required(p.Child("fieldPath"), "")}
	case ref.APIVersion != "v1":
		return field.ErrorList{field.Invalid(p.Child("fieldPath"), path, "error converting fieldPath: unsupported pod version: "+ref.APIVersion)}
	}
	if whole, key, ok := strings.Cut(path, "['"); ok && strings.HasSuffix(key, "']") {
		key = strings.TrimSuffix(key, "']")
		switch whole {
		case "metadata.annotations":
			return qualifiedName(strings.ToLower(key), p)
		case "metadata.labels":
			return qualifiedName(key, p)
		}
		return field.ErrorList{field.Invalid(p.Child("fieldPath"), path, "error converting fieldPath: field label does not support subscript: "+path)}
	}
	switch {
	case path == "spec.host":
		path = "spec.nodeName"
	case !slices.Contains(fieldPaths, path):
		return field.ErrorList{field.Invalid(p.Child("fieldPath"), path, "error converting fieldPath: field label not supported: "+path)}
	}
	if !slices.Contains(allowed, path) {
		return field.ErrorList{field.NotSupported(p.Child("fieldPath"), path, allowed)}
	}
	return nil
}

func qualifiedName(name string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(p, name, msg))
	}
	return errs
}

var (
	cpuDivisors   = []string{"1m", "1"}
	otherDivisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
)

func validateResourceFieldRef(ref *corev1.ResourceFieldSelector, p *field.Path, volume bool) field.ErrorList {
	var errs field.ErrorList
	_, huge, _ := strings.Cut(ref.Resource, ".")
	isHuge := strings.HasPrefix(huge, corev1.ResourceHugePagesPrefix)
	switch {
	case volume && ref.ContainerName == "":
		errs = append(errs, field.Required(p.Child("containerName"), ""))
	case ref.Resource == "":
		errs = append(errs, field.Required(p.Child("resource"), ""))
	case !slices.Contains(resourcePaths, ref.Resource) && !isHuge:
		errs = append(errs, field.NotSupported(p.Child("resource"), ref.Resource, resourcePaths))
	}
	if ref.Divisor.IsZero() {
		return errs
	}
	allowed, what := otherDivisors, ""
	switch {
	case huge == "cpu":
		allowed, what = cpuDivisors, "cpu"
	case huge == "memory":
		what = "memory"
	case huge == "ephemeral-storage":
		what = "local ephemeral storage"
	case isHuge:
		what = "hugepages"
	}
	if what != "" && !slices.Contains(allowed, ref.Divisor.String()) {
		list := strings.Join(allowed, ", ")
		if what == "cpu" {
			list = "1m and 1"
		}
		errs = append(errs, field.Invalid(p.Child("divisor"), ref.Resource, "only divisor's values "+list+" are supported with the "+what+" resource"))
	}
	return errs
}
