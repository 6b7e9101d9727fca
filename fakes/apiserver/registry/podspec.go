package registry

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	requests "k8s.io/component-helpers/resource"
)

// Defaults of pods and pod templates.

func defaultPod(p *corev1.Pod) {
	s := &p.Spec
	if s.TerminationGracePeriodSeconds != nil && *s.TerminationGracePeriodSeconds < 0 {
		one := int64(1)
		s.TerminationGracePeriodSeconds = &one
	}
	for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			defaultRequests(&list[i].Resources)
		}
	}
	if s.EnableServiceLinks == nil {
		links := corev1.DefaultEnableServiceLinks
		s.EnableServiceLinks = &links
	}
	if s.HostNetwork {
		s.Containers, s.InitContainers = withHostPorts(s.Containers), withHostPorts(s.InitContainers)
	}
	defaultPodSpec(s)
	defaultPodStatus(&p.Status)
}

// defaultWhole makes a pod with limits for all its containers ask for what they ask for
// together, or else for the limits.
func defaultWhole(p *corev1.Pod) {
	r := p.Spec.Resources.DeepCopy()
	for _, list := range []corev1.ResourceList{requests.AggregateContainerRequests(p, requests.PodResourcesOptions{}), r.Limits} {
		for _, name := range sortedKeys(list) {
			if _, ok := r.Requests[name]; ok || !requests.IsSupportedPodLevelResource(name) {
				continue
			}
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			r.Requests[name] = list[name].DeepCopy()
		}
	}
	p.Spec.Resources = r
}

// withHostPorts returns the containers with their ports open on the host.
func withHostPorts(list []corev1.Container) []corev1.Container {
	var out []corev1.Container // a copy, once there is something to change
	for i := range list {
		for j := range list[i].Ports {
			if list[i].Ports[j].HostPort != 0 {
				continue
			}
			if out == nil {
				out = slices.Clone(list)
			}
			if &out[i].Ports[0] == &list[i].Ports[0] {
				out[i].Ports = slices.Clone(list[i].Ports)
			}
			out[i].Ports[j].HostPort = list[i].Ports[j].ContainerPort
		}
	}
	if out == nil {
		return list
	}
	return out
}

func defaultRequests(r *corev1.ResourceRequirements) {
	if r.Limits == nil {
		return
	}
	if r.Requests == nil {
		r.Requests = make(corev1.ResourceList, len(r.Limits))
	}
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			r.Requests[name] = limit.DeepCopy()
		}
	}
}

func defaultPodStatus(s *corev1.PodStatus) {
	switch {
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	case s.PodIP == "" && len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	}
}

func defaultPodTemplate(t *corev1.PodTemplateSpec) { defaultPodSpec(&t.Spec) }

func defaultPodSpec(s *corev1.PodSpec) {
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = s.DeprecatedServiceAccount
	}
	s.DeprecatedServiceAccount = s.ServiceAccountName
	if s.DNSPolicy == "" {
		s.DNSPolicy = corev1.DNSClusterFirst
	}
	if s.RestartPolicy == "" {
		s.RestartPolicy = corev1.RestartPolicyAlways
	}
	if s.SecurityContext == nil {
		s.SecurityContext = &corev1.PodSecurityContext{}
	}
	if s.TerminationGracePeriodSeconds == nil {
		period := int64(corev1.DefaultTerminationGracePeriodSeconds)
		s.TerminationGracePeriodSeconds = &period
	}
	if s.SchedulerName == "" {
		s.SchedulerName = corev1.DefaultSchedulerName
	}
	for i := range s.Volumes {
		defaultVolume(&s.Volumes[i])
	}
	for i := range s.InitContainers {
		defaultContainer(&s.InitContainers[i])
	}
	for i := range s.Containers {
		defaultContainer(&s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		defaultContainer((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

func defaultPulling(policy *corev1.PullPolicy, image string) {
	switch {
	case *policy != "":
	case latest(image):
		*policy = corev1.PullAlways
	default:
		*policy = corev1.PullIfNotPresent
	}
}

func defaultContainer(c *corev1.Container) {
	defaultPulling(&c.ImagePullPolicy, c.Image)
	if c.TerminationMessagePath == "" {
		c.TerminationMessagePath = corev1.TerminationMessagePathDefault
	}
	if c.TerminationMessagePolicy == "" {
		c.TerminationMessagePolicy = corev1.TerminationMessageReadFile
	}
	for i := range c.Ports {
		if c.Ports[i].Protocol == "" {
			c.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		defaultProbe(p)
	}
	if l := c.Lifecycle; l != nil {
		for _, h := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
			if h != nil {
				defaultHTTPGet(h.HTTPGet)
			}
		}
	}
}

func defaultFieldRef(r *corev1.ObjectFieldSelector) {
	if r != nil && r.APIVersion == "" {
		r.APIVersion = "v1"
	}
}

// latest reports whether an image name has the tag latest, or neither a tag nor
// a digest.
func latest(image string) bool {
	if image == "" || strings.Contains(image, "@") {
		return false
	}
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, ok := strings.Cut(name, ":")
	return !ok || tag == "latest"
}

func defaultProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	for _, f := range []struct {
		field *int32
		value int32
	}{{&p.TimeoutSeconds, 1}, {&p.PeriodSeconds, 10}, {&p.SuccessThreshold, 1}, {&p.FailureThreshold, 3}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil && p.GRPC.Service == nil {
		service := ""
		p.GRPC.Service = &service
	}
}

func defaultHTTPGet(g *corev1.HTTPGetAction) {
	if g == nil {
		return
	}
	if g.Path == "" {
		g.Path = "/"
	}
	if g.Scheme == "" {
		g.Scheme = corev1.URISchemeHTTP
	}
}

func defaultVolume(v *corev1.Volume) {
	mode := func(m **int32) {
		if *m == nil {
			perm := int32(0o644)
			*m = &perm
		}
	}
	s := &v.VolumeSource
	switch {
	case s.EmptyDir != nil:
	case s.Secret != nil:
		mode(&s.Secret.DefaultMode)
	case s.ConfigMap != nil:
		mode(&s.ConfigMap.DefaultMode)
	case s.DownwardAPI != nil:
		mode(&s.DownwardAPI.DefaultMode)
		for i := range s.DownwardAPI.Items {
			defaultFieldRef(s.DownwardAPI.Items[i].FieldRef)
		}
	case s.Projected != nil:
		mode(&s.Projected.DefaultMode)
		defaultProjections(s.Projected.Sources)
	case s.HostPath != nil:
		if s.HostPath.Type == nil {
			none := corev1.HostPathUnset
			s.HostPath.Type = &none
		}
	case s.Ephemeral != nil:
		if t := s.Ephemeral.VolumeClaimTemplate; t != nil {
			defaultClaimSpec(&t.Spec)
		}
	case s.Image != nil:
		defaultPulling(&s.Image.PullPolicy, s.Image.Reference)
	case *s == corev1.VolumeSource{}:
		s.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
}

func defaultProjections(list []corev1.VolumeProjection) {
	for i := range list {
		if t := list[i].ServiceAccountToken; t != nil && t.ExpirationSeconds == nil {
			hour := int64(3600)
			t.ExpirationSeconds = &hour
		}
		if d := list[i].DownwardAPI; d != nil {
			for j := range d.Items {
				defaultFieldRef(d.Items[j].FieldRef)
			}
		}
	}
}

func percent(p **intstr.IntOrString, value string) {
	if *p == nil {
		v := intstr.FromString(value)
		*p = &v
	}
}

func number(p **intstr.IntOrString, value int32) {
	if *p == nil {
		v := intstr.FromInt32(value)
		*p = &v
	}
}

// mine makes *p point to a copy, or to something new, so that its fields can be
// set although the object may share what it points to with a stored one.
func mine[T any](p **T) *T {
	var v T
	if *p != nil {
		v = **p
	}
	*p = &v
	return *p
}

// fill sets *p to value if it is not set.
func fill[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}
