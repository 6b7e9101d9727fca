package registry

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What is accepted of a pod, and means nothing or not what it seems to.

var deadAnnotations = []struct{ key, instead string }{
	{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
	{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
}

var deadLabels = map[string]string{
	"beta.kubernetes.io/arch":                       `deprecated since v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":                         `deprecated since v1.14; use "kubernetes.io/os" instead`,
	"failure-domain.beta.kubernetes.io/region":      `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
	"failure-domain.beta.kubernetes.io/zone":        `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
	"beta.kubernetes.io/instance-type":              `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
	"app.kubernetes.io/created-by":                  "deprecated since v1.9",
	"scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
	"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
}

// warnLabels warns of labels of nodes that have another name now.
func warnLabels(s *corev1.PodSpec, p *field.Path) []string {
	var out []string
	for _, key := range sortedKeys(s.NodeSelector) {
		if msg, dead := deadLabels[key]; dead {
			out = append(out, fmt.Sprintf("%s: %s", p.Child("nodeSelector").Key(key), msg))
		}
	}
	term := func(t *corev1.NodeSelectorTerm, values bool, at *field.Path) {
		for i, e := range t.MatchExpressions {
			at := at.Child("matchExpressions").Index(i)
			if msg, dead := deadLabels[e.Key]; dead {
				out = append(out, fmt.Sprintf("%s: %s is %s", at.Child("key"), e.Key, msg))
			}
			for j, v := range e.Values {
				if !values {
					break
				}
				for _, msg := range validation.IsValidLabelValue(v) {
					out = append(out, fmt.Sprintf("%s: %s is invalid, %s", at.Child("values").Index(j), v, msg))
				}
			}
		}
	}
	if s.Affinity != nil && s.Affinity.NodeAffinity != nil {
		n, at := s.Affinity.NodeAffinity, p.Child("affinity", "nodeAffinity")
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i := range r.NodeSelectorTerms {
				term(&r.NodeSelectorTerms[i], false, at.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Index(i))
			}
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			term(&n.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference, true, at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"))
		}
	}
	for i := range s.TopologySpreadConstraints {
		key := s.TopologySpreadConstraints[i].TopologyKey
		if msg, dead := deadLabels[key]; dead {
			out = append(out, fmt.Sprintf("%s: %s is %s", p.Child("topologySpreadConstraints").Index(i).Child("topologyKey"), key, msg))
		}
	}
	return out
}

// warnReferences warns of volumes that are not there any more, and of names given twice.
func warnReferences(s *corev1.PodSpec, p *field.Path) []string {
	var out []string
	for i := range s.Volumes {
		v, at := &s.Volumes[i], p.Child("volumes").Index(i)
		for _, dead := range []struct {
			name, since string
			set         bool
		}{
			{"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+", v.PhotonPersistentDisk != nil},
			{"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+", v.GitRepo != nil},
			{"scaleIO", "deprecated in v1.16, non-functional in v1.22+", v.ScaleIO != nil},
			{"flocker", "deprecated in v1.22, non-functional in v1.25+", v.Flocker != nil},
			{"storageOS", "deprecated in v1.22, non-functional in v1.25+", v.StorageOS != nil},
			{"quobyte", "deprecated in v1.22, non-functional in v1.25+", v.Quobyte != nil},
			{"glusterfs", "deprecated in v1.25, non-functional in v1.26+", v.Glusterfs != nil},
			{"cephfs", "deprecated in v1.28, non-functional in v1.31+", v.CephFS != nil},
			{"rbd", "deprecated in v1.28, non-functional in v1.31+", v.RBD != nil},
		} {
			if dead.set {
				out = append(out, at.Child(dead.name).String()+": "+dead.since)
			}
		}
	}
	hosts, secrets := map[string]bool{}, map[string]bool{}
	for i, alias := range s.HostAliases {
		if hosts[alias.IP] {
			out = append(out, fmt.Sprintf("%s: duplicate ip %q", p.Child("hostAliases").Index(i).Child("ip"), alias.IP))
		}
		hosts[alias.IP] = true
	}
	at := p.Child("imagePullSecrets")
	for i, secret := range s.ImagePullSecrets {
		if secrets[secret.Name] {
			out = append(out, fmt.Sprintf("%s: duplicate name %q", at.Index(i).Child("name"), secret.Name))
		}
		secrets[secret.Name] = true
	}
	for i, secret := range s.ImagePullSecrets {
		if secret.Name == "" {
			out = append(out, fmt.Sprintf("%s: invalid empty name %q", at.Index(i).Child("name"), secret.Name))
		}
	}
	return out
}

// warnProfiles warns of security profiles in annotations.
func warnProfiles(notes map[string]string, s *corev1.PodSpec, template bool, p *field.Path) []string {
	if len(notes) == 0 {
		return nil
	}
	var out []string
	const instead = `: non-functional in v1.27+; use the "seccompProfile" field instead`
	if _, ok := notes[corev1.SeccompPodAnnotationKey]; ok && (s.SecurityContext == nil || s.SecurityContext.SeccompProfile == nil) {
		out = append(out, p.Key(corev1.SeccompPodAnnotationKey).String()+instead)
	}
	var whole *corev1.AppArmorProfile
	if s.SecurityContext != nil {
		whole = s.SecurityContext.AppArmorProfile
	}
	eachContainer(s, p, func(name string, sc *corev1.SecurityContext, _ *field.Path) {
		key := corev1.SeccompContainerAnnotationKeyPrefix + name
		if _, ok := notes[key]; ok && (sc == nil || sc.SeccompProfile == nil) {
			out = append(out, p.Key(key).String()+instead)
		}
		key = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + name
		if value, ok := notes[key]; ok && template && (sc == nil || sc.AppArmorProfile == nil) && (whole == nil || !equality.Semantic.DeepEqual(whole, appArmorOf(value))) {
			out = append(out, p.Key(key).String()+appArmorField) // of a pod this has been said
		}
	})
	return out
}

// warnContainers warns of what containers say twice.
func warnContainers(s *corev1.PodSpec, p *field.Path) []string {
	var out []string
	var ports []placedPort
	visit := func(c *corev1.Container, at *field.Path) {
		for _, list := range []struct {
			name string
			of   corev1.ResourceList
		}{{"limits", c.Resources.Limits}, {"requests", c.Resources.Requests}} {
			for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
				if q, ok := list.of[name]; ok && q.MilliValue()%1000 != 0 {
					out = append(out, fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer", at.Child("resources", list.name).Key(string(name)), q.String()))
				}
			}
		}
		out = append(out, warnEnv(c.Env, at.Child("env"))...)
		for i, port := range c.Ports {
			ports = append(ports, placedPort{port, at.Child("ports").Index(i)})
		}
	}
	for i := range s.InitContainers {
		visit(&s.InitContainers[i], p.Child("initContainers").Index(i))
	}
	for i := range s.Containers {
		visit(&s.Containers[i], p.Child("containers").Index(i))
	}
	return append(out, warnPorts(ports)...)
}

// warnEnv warns of variables that lose a value they were given before.
func warnEnv(list []corev1.EnvVar, p *field.Path) []string {
	if len(list) < 2 {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for i, e := range list {
		before := "$(" + e.Name + ")"
		if seen[e.Name] && (e.ValueFrom != nil || e.Value == before || !strings.Contains(e.Value, before)) {
			out = append(out, fmt.Sprintf("%s: hides previous definition of %q, which may be dropped when using apply", p.Index(i), e.Name))
		}
		seen[e.Name] = true
	}
	return out
}

type placedPort struct {
	corev1.ContainerPort
	at *field.Path
}

func warnPorts(ports []placedPort) []string {
	var out []string
	for i, port := range ports {
		if port.HostIP != "" && port.HostPort == 0 {
			out = append(out, fmt.Sprintf("%s: hostIP set without hostPort: %+v", port.at, port.ContainerPort))
		}
		for _, other := range ports[:i] {
			if port.ContainerPort.ContainerPort != other.ContainerPort.ContainerPort || port.Protocol != other.Protocol {
				continue
			}
			switch {
			case port.HostIP == other.HostIP && port.HostPort == other.HostPort:
				out = append(out, fmt.Sprintf("%s: duplicate port definition with %s", port.at, other.at))
			case port.HostPort == 0 || other.HostPort == 0:
				out = append(out, fmt.Sprintf("%s: overlapping port definition with %s", port.at, other.at))
			case port.HostPort == other.HostPort && (port.HostIP == "") != (other.HostIP == ""):
				out = append(out, fmt.Sprintf("%s: dangerously ambiguous port definition with %s", port.at, other.at))
			}
		}
	}
	for i, port := range ports {
		for _, other := range ports[:i] {
			if port.Name != "" && port.Name == other.Name {
				out = append(out, fmt.Sprintf("%s: duplicate port name %q with %s, services and probes that select ports by name will use %s", port.at, port.Name, other.at, other.at))
				break
			}
		}
	}
	return out
}
