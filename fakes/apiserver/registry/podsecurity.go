package registry

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validation of security contexts, and of the annotations that were there before them.

func validatePodSecurity(sc *corev1.PodSecurityContext, s *corev1.PodSpec, p *field.Path) field.ErrorList {
	if sc == nil {
		return nil
	}
	errs := validateID(sc.FSGroup, validation.IsValidGroupID, p.Child("fsGroup"))
	errs = append(errs, validateID(sc.RunAsUser, validation.IsValidUserID, p.Child("runAsUser"))...)
	errs = append(errs, validateID(sc.RunAsGroup, validation.IsValidGroupID, p.Child("runAsGroup"))...)
	for i := range sc.SupplementalGroups {
		errs = append(errs, validateID(&sc.SupplementalGroups[i], validation.IsValidGroupID, p.Child("supplementalGroups").Index(i))...)
	}
	errs = append(errs, validateSysctls(sc.Sysctls, s, p.Child("sysctls"))...)
	errs = append(errs, known(p.Child("fsGroupChangePolicy"), sc.FSGroupChangePolicy, corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	errs = append(errs, validateSeccomp(sc.SeccompProfile, p.Child("seccompProfile"))...)
	errs = append(errs, validateWindowsOptions(sc.WindowsOptions, p.Child("windowsOptions"))...)
	errs = append(errs, validateAppArmor(sc.AppArmorProfile, p.Child("appArmorProfile"))...)
	errs = append(errs, known(p.Child("supplementalGroupsPolicy"), sc.SupplementalGroupsPolicy, corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	return append(errs, known(p.Child("seLinuxChangePolicy"), sc.SELinuxChangePolicy, corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
}

func validateSecurity(sc *corev1.SecurityContext, s *corev1.PodSpec, p *field.Path) field.ErrorList {
	if sc == nil {
		return nil
	}
	var errs field.ErrorList
	privileged := isTrue(sc.Privileged)
	if privileged {
		// Nobody may, unless kube-apiserver is told to allow it.
		errs = append(errs, field.Forbidden(p.Child("privileged"), "disallowed by cluster policy"))
	}
	errs = append(errs, validateID(sc.RunAsUser, validation.IsValidUserID, p.Child("runAsUser"))...)
	errs = append(errs, validateID(sc.RunAsGroup, validation.IsValidGroupID, p.Child("runAsGroup"))...)
	errs = append(errs, known(p.Child("procMount"), sc.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
	if sc.ProcMount != nil && *sc.ProcMount == corev1.UnmaskedProcMount && (s.HostUsers == nil || *s.HostUsers) {
		errs = append(errs, field.Invalid(p.Child("procMount"), sc.ProcMount, "`hostUsers` must be false to use `Unmasked`"))
	}
	errs = append(errs, validateSeccomp(sc.SeccompProfile, p.Child("seccompProfile"))...)
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		if privileged {
			errs = append(errs, field.Invalid(p, sc, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
		}
		if sc.Capabilities != nil && slices.Contains(sc.Capabilities.Add, "CAP_SYS_ADMIN") {
			errs = append(errs, field.Invalid(p, sc, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
		}
	}
	errs = append(errs, validateWindowsOptions(sc.WindowsOptions, p.Child("windowsOptions"))...)
	return append(errs, validateAppArmor(sc.AppArmorProfile, p.Child("appArmorProfile"))...)
}

func validateID(id *int64, wrong func(int64) []string, p *field.Path) field.ErrorList {
	if id == nil {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range wrong(*id) {
		errs = append(errs, field.Invalid(p, *id, msg))
	}
	return errs
}

// known is supported for a value that need not be there.
func known[T ~string](p *field.Path, value *T, allowed ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return supported(p, *value, allowed...)
}

const sysctlFormat = `^([a-z0-9][-_a-z0-9]*[a-z0-9]?[\./])*[a-z0-9][-_a-z0-9]*[a-z0-9]?$`

var sysctlPattern = regexp.MustCompile(sysctlFormat)

const sysctlLength = 253

func validateSysctls(list []corev1.Sysctl, s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range list {
		name, at := list[i].Name, p.Index(i).Child("name")
		switch {
		case name == "":
			errs = append(errs, field.Required(at, ""))
		case len(name) > sysctlLength || !sysctlPattern.MatchString(name):
			errs = append(errs, field.Invalid(at, name, fmt.Sprintf("must have at most %d characters and match regex %s", sysctlLength, sysctlFormat)))
		case seen[name]:
			errs = append(errs, field.Duplicate(at, name))
		}
		seen[name] = true
		dotted := strings.ReplaceAll(name, "/", ".")
		switch {
		case s.HostNetwork && strings.HasPrefix(dotted, "net."):
			errs = append(errs, field.Invalid(at, name, "may not be specified when 'hostNetwork' is true"))
		case s.HostIPC && (strings.HasPrefix(dotted, "kernel.shm") || strings.HasPrefix(dotted, "kernel.msg") || dotted == "kernel.sem" || strings.HasPrefix(dotted, "fs.mqueue.")):
			errs = append(errs, field.Invalid(at, name, "may not be specified when 'hostIPC' is true"))
		}
	}
	return errs
}

func validateSeccomp(sp *corev1.SeccompProfile, p *field.Path) field.ErrorList {
	if sp == nil {
		return nil
	}
	var errs field.ErrorList
	if sp.Type == "" {
		errs = append(errs, field.Required(p.Child("type"), "type is required when seccompProfile is set"))
	} else {
		errs = append(errs, supported(p.Child("type"), sp.Type, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)...)
	}
	at := p.Child("localhostProfile")
	switch local := sp.Type == corev1.SeccompProfileTypeLocalhost; {
	case local && sp.LocalhostProfile == nil:
		errs = append(errs, field.Required(at, "must be set when seccomp type is Localhost"))
	case local:
		errs = append(errs, validateDescending(*sp.LocalhostProfile, at)...)
	case sp.LocalhostProfile != nil:
		shown := struct { // as the server's own type is shown
			Type             corev1.SeccompProfileType
			LocalhostProfile *string
		}{sp.Type, sp.LocalhostProfile}
		errs = append(errs, field.Invalid(at, shown, "can only be set when seccomp type is Localhost"))
	}
	return errs
}

const pathLength = 4095

func validateAppArmor(a *corev1.AppArmorProfile, p *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	at := p.Child("localhostProfile")
	switch a.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		if a.LocalhostProfile == nil {
			return field.ErrorList{field.Required(at, "must be set when AppArmor type is Localhost")}
		}
		var errs field.ErrorList
		switch trimmed := strings.TrimSpace(*a.LocalhostProfile); {
		case trimmed != *a.LocalhostProfile:
			errs = append(errs, field.Invalid(at, *a.LocalhostProfile, "must not be padded with whitespace"))
		case trimmed == "":
			errs = append(errs, field.Required(at, "must be set when AppArmor type is Localhost"))
		}
		if len(*a.LocalhostProfile) > pathLength {
			errs = append(errs, field.TooLong(at, "", pathLength))
		}
		return errs
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if a.LocalhostProfile != nil {
			return field.ErrorList{field.Invalid(at, a.LocalhostProfile, "can only be set when AppArmor type is Localhost")}
		}
		return nil
	case "":
		return field.ErrorList{field.Required(p.Child("type"), "type is required when appArmorProfile is set")}
	}
	return supported(p.Child("type"), a.Type, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
}

// validatePodAnnotations checks the annotations of a pod or template that mean something.
func validatePodAnnotations(notes map[string]string, s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if value, mirror := notes[corev1.MirrorPodAnnotationKey]; mirror && s.NodeName == "" {
		errs = append(errs, field.Invalid(p.Key(corev1.MirrorPodAnnotationKey), value, "must set spec.nodeName if mirror pod annotation is set"))
	}
	for _, key := range sortedKeys(notes) {
		value := notes[key]
		container, armor := strings.CutPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix)
		switch {
		case key == corev1.PodDeletionCost && !deletionCost.MatchString(value):
			errs = append(errs, field.Invalid(p.Key(key), value, "must be a 32bit integer"))
		case key == corev1.SeccompPodAnnotationKey, strings.HasPrefix(key, corev1.SeccompContainerAnnotationKeyPrefix):
			errs = append(errs, validateSeccompNote(value, p.Child(key))...)
		case armor:
			if !slices.ContainsFunc(slices.Concat(s.Containers, s.InitContainers), func(c corev1.Container) bool { return c.Name == container }) {
				errs = append(errs, field.Invalid(p.Key(key), container, "container not found"))
			}
			if value != "" && value != corev1.DeprecatedAppArmorBetaProfileRuntimeDefault && value != corev1.DeprecatedAppArmorBetaProfileNameUnconfined &&
				!strings.HasPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix) {
				errs = append(errs, field.Invalid(p.Key(key), value, fmt.Sprintf("invalid AppArmor profile name: %q", value)))
			}
		}
	}
	return errs
}

// validateChangedNotes checks the annotations of a pod that was there before.
func validateChangedNotes(p, was *corev1.Pod) field.ErrorList {
	if maps.Equal(p.Annotations, was.Annotations) {
		return nil
	}
	var errs field.ErrorList
	at := field.NewPath("metadata", "annotations")
	compare := func(a, b map[string]string, armor, mirrored string) {
		for _, key := range sortedKeys(a) {
			value, still := b[key]
			switch {
			case still && (value == a[key] || armor == addedArmor):
			case strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix):
				errs = append(errs, field.Forbidden(at.Key(key), armor))
			case key == corev1.MirrorPodAnnotationKey:
				errs = append(errs, field.Forbidden(at.Key(key), mirrored))
			}
		}
	}
	compare(was.Annotations, p.Annotations, "may not remove or update AppArmor annotations", "may not remove or update mirror pod annotation")
	compare(p.Annotations, was.Annotations, addedArmor, "may not add mirror pod annotation")
	return append(errs, validatePodAnnotations(p.Annotations, &p.Spec, at)...)
}

const addedArmor = "may not add AppArmor annotations"

var deletionCost = regexp.MustCompile(`^(-?[1-9][0-9]{0,9}|0)$`)

const (
	seccompUnconfined = "unconfined"
	seccompDefault    = "runtime/default"
	seccompDocker     = "docker/default"
	seccompLocal      = "localhost/"
)

func validateSeccompNote(value string, p *field.Path) field.ErrorList {
	switch local, isLocal := strings.CutPrefix(value, seccompLocal); {
	case value == seccompDefault, value == seccompDocker, value == seccompUnconfined:
		return nil
	case isLocal:
		return validateDescending(local, p)
	}
	return field.ErrorList{field.Invalid(p, value, "must be a valid seccomp profile")}
}

// validateNotesAndFields checks that the annotations of a new pod, or of a template, do
// not contradict its fields.
func validateNotesAndFields(notes map[string]string, s *corev1.PodSpec, spec *field.Path) field.ErrorList {
	if len(notes) == 0 {
		return nil
	}
	var errs field.ErrorList
	security := s.SecurityContext
	if security == nil {
		security = &corev1.PodSecurityContext{}
	}
	if value, ok := notes[corev1.SeccompPodAnnotationKey]; ok {
		errs = append(errs, sameSeccomp(value, security.SeccompProfile, spec.Child("securityContext", "seccompProfile"))...)
	}
	eachContainer(s, spec, func(name string, sc *corev1.SecurityContext, at *field.Path) {
		armor := security.AppArmorProfile
		if sc != nil {
			if value, ok := notes[corev1.SeccompContainerAnnotationKeyPrefix+name]; ok {
				errs = append(errs, sameSeccomp(value, sc.SeccompProfile, at.Child("securityContext", "seccompProfile"))...)
			}
			if sc.AppArmorProfile != nil {
				armor = sc.AppArmorProfile
			}
		}
		if value, ok := notes[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+name]; ok && !onWindows(s) {
			errs = append(errs, sameAppArmor(value, armor, at.Child("securityContext", "appArmorProfile"))...)
		}
	})
	return errs
}

func onWindows(s *corev1.PodSpec) bool { return s.OS != nil && s.OS.Name == corev1.Windows }

func sameSeccomp(value string, sp *corev1.SeccompProfile, p *field.Path) field.ErrorList {
	if sp == nil {
		return nil
	}
	same := true
	local, isLocal := strings.CutPrefix(value, seccompLocal)
	switch sp.Type {
	case corev1.SeccompProfileTypeUnconfined:
		same = value == seccompUnconfined
	case corev1.SeccompProfileTypeRuntimeDefault:
		same = value == seccompDefault || value == seccompDocker
	case corev1.SeccompProfileTypeLocalhost:
		if same = isLocal; same && (sp.LocalhostProfile == nil || local != *sp.LocalhostProfile) {
			return field.ErrorList{field.Forbidden(p.Child("localhostProfile"), "seccomp profile in annotation and field must match")}
		}
	}
	if same {
		return nil
	}
	return field.ErrorList{field.Forbidden(p.Child("type"), "seccomp type in annotation and field must match")}
}

func sameAppArmor(value string, a *corev1.AppArmorProfile, p *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	same := true
	local, isLocal := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch a.Type {
	case corev1.AppArmorProfileTypeUnconfined:
		same = value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined
	case corev1.AppArmorProfileTypeRuntimeDefault:
		same = value == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault
	case corev1.AppArmorProfileTypeLocalhost:
		if same = isLocal; same && (a.LocalhostProfile == nil || local != *a.LocalhostProfile) {
			return field.ErrorList{field.Forbidden(p.Child("localhostProfile"), "apparmor profile in annotation and field must match")}
		}
	}
	if same {
		return nil
	}
	return field.ErrorList{field.Forbidden(p.Child("type"), "apparmor type in annotation and field must match")}
}

// eachContainer visits all containers of a pod.
func eachContainer(s *corev1.PodSpec, p *field.Path, visit func(name string, sc *corev1.SecurityContext, at *field.Path)) {
	for i := range s.InitContainers {
		visit(s.InitContainers[i].Name, s.InitContainers[i].SecurityContext, p.Child("initContainers").Index(i))
	}
	for i := range s.Containers {
		visit(s.Containers[i].Name, s.Containers[i].SecurityContext, p.Child("containers").Index(i))
	}
	for i := range s.EphemeralContainers {
		visit(s.EphemeralContainers[i].Name, s.EphemeralContainers[i].SecurityContext, p.Child("ephemeralContainers").Index(i))
	}
}

// adoptAppArmor makes fields of the annotations that named the profiles of containers
// before there were fields.
func adoptAppArmor(c *Context, p *corev1.Pod) {
	if len(p.Annotations) == 0 || onWindows(&p.Spec) {
		return
	}
	var whole *corev1.AppArmorProfile
	if p.Spec.SecurityContext != nil {
		whole = p.Spec.SecurityContext.AppArmorProfile
	}
	adopt := func(list []corev1.Container) []corev1.Container {
		list = slices.Clone(list)
		for i := range list {
			key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + list[i].Name
			value, ok := p.Annotations[key]
			sc := list[i].SecurityContext
			if !ok || sc != nil && sc.AppArmorProfile != nil {
				continue
			}
			profile := appArmorOf(value)
			adopted := profile != nil && !equality.Semantic.DeepEqual(profile, whole)
			if adopted {
				if sc = sc.DeepCopy(); sc == nil {
					sc = &corev1.SecurityContext{}
				}
				sc.AppArmorProfile = profile
				list[i].SecurityContext = sc
			}
			if adopted || profile == nil {
				c.Warn(field.NewPath("metadata", "annotations").Key(key).String() + appArmorField)
			}
		}
		return list
	}
	p.Spec.InitContainers, p.Spec.Containers = adopt(p.Spec.InitContainers), adopt(p.Spec.Containers)
}

const appArmorField = `: deprecated since v1.30; use the "appArmorProfile" field instead`

// appArmorOf is the profile that an annotation names; nil if that is none.
func appArmorOf(value string) *corev1.AppArmorProfile {
	local, isLocal := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case value == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case isLocal && local != "" && strings.TrimSpace(local) == local && len(local) <= pathLength:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &local}
	}
	return nil
}
