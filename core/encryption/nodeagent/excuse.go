package nodeagent

import (
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/sidecar"
)

// An API server with a KMS plugin that is dead is not ready, and does not take over a
// configuration in which there is such a plugin. Where the policy's status says that the
// plugin's key is given up, agents have it do both all the same: kubelets ask whether it
// is ready without its plugins, and it takes the configuration over by a restart, at
// which it waits for no plugin. The plugins of the other keys agents ask themselves.

// pluginsCheck is the health check of a kube-apiserver that is about its KMS plugins. It
// is one for all of them: with version 2 of the protocol, no plugin has one of its own.
const pluginsCheck = "kms-providers"

// LoadsAnnotation has the hash of the configuration that an API server is restarted for,
// though it loads configurations by itself.
const LoadsAnnotation = "encryption.seedbed.dev/loads"

// plugins returns the keys whose plugins have to be well for a configuration to be
// loaded, and whether there are others, which need not be.
func (s *sight) plugins(cfg *revision) (needed []uint64, excused bool) {
	for _, id := range sidecar.Keys(cfg.on) {
		if slices.Contains(s.policy.Status.GivenUpKeys, int64(id)) {
			excused = true
			continue
		}
		needed = append(needed, id)
	}
	return needed, excused
}

// misled are the probes of the API server that ask for its plugins and should not, or
// the other way round.
func (m *manifest) misled(container string, excused bool) []*corev1.HTTPGetAction {
	var misled []*corev1.HTTPGetAction
	for i := range m.pod.Spec.Containers {
		c := &m.pod.Spec.Containers[i]
		if c.Name != container {
			continue
		}
		for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
			if p == nil || p.HTTPGet == nil {
				continue
			}
			if u, err := url.Parse(p.HTTPGet.Path); err == nil && asksForPlugins(u) == excused {
				misled = append(misled, p.HTTPGet)
			}
		}
	}
	return slices.DeleteFunc(misled, func(a *corev1.HTTPGetAction) bool {
		u, err := url.Parse(a.Path)
		return err != nil || u.Path != "/readyz" && u.Path != "/healthz"
	})
}

func asksForPlugins(u *url.URL) bool { return !slices.Contains(u.Query()["exclude"], pluginsCheck) }

// excuse lets the API server be ready without its plugins, or not.
func (m *manifest) excuse(container string, excused bool) {
	for _, a := range m.misled(container, excused) {
		u, err := url.Parse(a.Path)
		if err != nil {
			continue // misled could parse it
		}
		q := u.Query()
		if excused {
			q.Add("exclude", pluginsCheck)
		} else if q["exclude"] = slices.DeleteFunc(q["exclude"], func(name string) bool { return name == pluginsCheck }); len(q["exclude"]) == 0 {
			q.Del("exclude")
		}
		u.RawQuery = q.Encode()
		a.Path = u.String()
	}
}

// loads has the API server restarted for a configuration; empty for none.
func (m *manifest) loads(hash string) {
	if hash == "" {
		delete(m.pod.Annotations, LoadsAnnotation)
		return
	}
	metav1.SetMetaDataAnnotation(&m.pod.ObjectMeta, LoadsAnnotation, hash)
}
