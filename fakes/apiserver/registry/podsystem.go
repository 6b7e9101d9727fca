package registry

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What a pod may ask for depends on the operating system that it says it is for.

func validateSystem(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	if s.OS == nil {
		return nil
	}
	switch s.OS.Name {
	case "":
		return field.ErrorList{field.Required(p.Child("os", "name"), "")}
	case corev1.Linux:
		return validateLinux(s, p)
	case corev1.Windows:
		return validateWindows(s, p)
	}
	return supported(p.Child("os"), s.OS.Name, corev1.Linux, corev1.Windows)
}

func validateLinux(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	refuse := func(at *field.Path) {
		errs = append(errs, field.Forbidden(at.Child("securityContext", "windowsOptions"), "windows options cannot be set for a linux pod"))
	}
	if s.SecurityContext != nil && s.SecurityContext.WindowsOptions != nil {
		refuse(p)
	}
	eachContainer(s, p, func(_ string, sc *corev1.SecurityContext, at *field.Path) {
		if sc != nil && sc.WindowsOptions != nil {
			refuse(at)
		}
	})
	return errs
}

func validateWindows(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	refuse := func(set bool, at *field.Path) {
		if set {
			errs = append(errs, field.Forbidden(at, "cannot be set for a windows pod"))
		}
	}
	if sc := s.SecurityContext; sc != nil {
		at := p.Child("securityContext")
		refuse(sc.AppArmorProfile != nil, at.Child("appArmorProfile"))
		refuse(sc.SELinuxOptions != nil, at.Child("seLinuxOptions"))
		refuse(sc.SeccompProfile != nil, at.Child("seccompProfile"))
		refuse(sc.FSGroup != nil, at.Child("fsGroup"))
		refuse(sc.FSGroupChangePolicy != nil, at.Child("fsGroupChangePolicy"))
		refuse(len(sc.Sysctls) > 0, at.Child("sysctls"))
		refuse(sc.RunAsUser != nil, at.Child("runAsUser"))
		refuse(sc.RunAsGroup != nil, at.Child("runAsGroup"))
		refuse(sc.SupplementalGroups != nil, at.Child("supplementalGroups"))
		refuse(sc.SupplementalGroupsPolicy != nil, at.Child("supplementalGroupsPolicy"))
		refuse(sc.SELinuxChangePolicy != nil, at.Child("seLinuxChangePolicy"))
	}
	refuse(s.HostUsers != nil, p.Child("hostUsers"))
	refuse(s.HostPID, p.Child("hostPID"))
	refuse(s.HostIPC, p.Child("hostIPC"))
	refuse(s.ShareProcessNamespace != nil, p.Child("shareProcessNamespace"))
	eachContainer(s, p, func(_ string, sc *corev1.SecurityContext, at *field.Path) {
		if sc == nil {
			return
		}
		at = at.Child("securityContext")
		refuse(sc.AppArmorProfile != nil, at.Child("appArmorProfile"))
		refuse(sc.SELinuxOptions != nil, at.Child("seLinuxOptions"))
		refuse(sc.SeccompProfile != nil, at.Child("seccompProfile"))
		refuse(sc.Capabilities != nil, at.Child("capabilities"))
		refuse(sc.ReadOnlyRootFilesystem != nil, at.Child("readOnlyRootFilesystem"))
		refuse(sc.Privileged != nil, at.Child("privileged"))
		refuse(sc.AllowPrivilegeEscalation != nil, at.Child("allowPrivilegeEscalation"))
		refuse(sc.ProcMount != nil, at.Child("procMount"))
		refuse(sc.RunAsUser != nil, at.Child("runAsUser"))
		refuse(sc.RunAsGroup != nil, at.Child("runAsGroup"))
	})
	return errs
}

// validateHostProcess checks what pods of Windows may do that run as processes of
// their host.
func validateHostProcess(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	option := func(o *corev1.WindowsSecurityContextOptions) *bool {
		if o == nil {
			return nil
		}
		return o.HostProcess
	}
	var whole *bool
	if s.SecurityContext != nil {
		whole = option(s.SecurityContext.WindowsOptions)
	}
	all, host := 0, 0
	eachContainer(s, p, func(_ string, sc *corev1.SecurityContext, at *field.Path) {
		all++
		var own *bool
		if sc != nil {
			own = option(sc.WindowsOptions)
		}
		if whole != nil && own != nil && *whole != *own {
			errs = append(errs, field.Invalid(at.Child("securityContext", "windowsOptions", "hostProcess"), *own,
				fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *whole)))
		}
		if isTrue(own) || own == nil && isTrue(whole) {
			host++
		}
	})
	if host == 0 {
		return errs
	}
	if host != all {
		errs = append(errs, field.Invalid(p, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers"))
	}
	if !s.HostNetwork {
		errs = append(errs, field.Invalid(p.Child("hostNetwork"), s.HostNetwork, "hostNetwork must be true if pod contains any hostProcess containers"))
	}
	return append(errs, field.Forbidden(p, "hostProcess containers are disallowed by cluster policy"))
}

const (
	credentialSpecSize = 64 << 10
	userDomainLength   = 256
	userLength         = 104
)

var (
	controlCharacters = regexp.MustCompile(`[[:cntrl:]]+`)
	netBios           = regexp.MustCompile(`^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$`)
	windowsDNS        = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	noUserCharacters  = regexp.MustCompile(`["/\\:;|=,\+\*\?<>@\[\]]`)
	dotsAndSpaces     = regexp.MustCompile(`^[\. ]+$`)
)

func validateWindowsOptions(o *corev1.WindowsSecurityContextOptions, p *field.Path) field.ErrorList {
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	if o.GMSACredentialSpecName != nil {
		for _, msg := range validation.IsDNS1123Subdomain(*o.GMSACredentialSpecName) {
			errs = append(errs, field.Invalid(p.Child("gmsaCredentialSpecName"), o.GMSACredentialSpecName, msg))
		}
	}
	if spec := o.GMSACredentialSpec; spec != nil {
		switch at := p.Child("gmsaCredentialSpec"); {
		case *spec == "":
			errs = append(errs, field.Invalid(at, spec, "gmsaCredentialSpec cannot be an empty string"))
		case len(*spec) > credentialSpecSize:
			errs = append(errs, field.Invalid(at, spec, fmt.Sprintf("gmsaCredentialSpec size must be under %d KiB", credentialSpecSize>>10)))
		}
	}
	if o.RunAsUserName != nil {
		for _, msg := range wrongUserName(*o.RunAsUserName) {
			errs = append(errs, field.Invalid(p.Child("runAsUserName"), o.RunAsUserName, "runAsUserName"+msg))
		}
	}
	return errs
}

// wrongUserName tells what is wrong with the name of a user of Windows.
func wrongUserName(name string) []string {
	domain, user, hasDomain := strings.Cut(name, `\`)
	switch {
	case name == "":
		return []string{" cannot be an empty string"}
	case controlCharacters.MatchString(name):
		return []string{" cannot contain control characters"}
	case strings.Contains(user, `\`):
		return []string{" cannot contain more than one backslash"}
	case !hasDomain:
		domain, user = "", name
	}
	var out []string
	if len(domain) >= userDomainLength {
		out = append(out, fmt.Sprintf("'s Domain length must be under %d characters", userDomainLength))
	}
	if hasDomain && !netBios.MatchString(domain) && !windowsDNS.MatchString(domain) {
		out = append(out, "'s Domain doesn't match the NetBios nor the DNS format")
	}
	switch {
	case user == "":
		out = append(out, "'s User cannot be empty")
	case len(user) > userLength:
		out = append(out, fmt.Sprintf("'s User length must not be longer than %d characters", userLength))
	}
	if dotsAndSpaces.MatchString(user) {
		out = append(out, "'s User cannot contain only periods or spaces")
	}
	if noUserCharacters.MatchString(user) {
		out = append(out, `'s User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
	}
	return out
}
