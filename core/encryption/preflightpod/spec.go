package preflightpod

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/sidecar"
)

// Variables of the environment of the container that checks.
const (
	PodNameVariable      = "POD_NAME"
	PodNamespaceVariable = "POD_NAMESPACE"
)

// Flags of the container that checks.
const (
	SocketsFlag    = "kms-sockets" // the one to be tried first
	ConfigHashFlag = "config-hash"
)

// Spec returns a function for [Deployer] that lets an image check the plugins of a
// configuration, which run beside it and are reached by sockets in [sidecar.SocketDir].
// The image runs what takes [SocketsFlag] and [ConfigHashFlag], as seedbed-preflight does.
// The Pod is of the control plane and on its network, as API servers are: a plugin that
// can be reached from there can be reached by them.
func Spec(image string) func(hash string, cfg *corev1.Secret) (corev1.PodSpec, error) {
	return func(hash string, cfg *corev1.Secret) (corev1.PodSpec, error) {
		on, err := config.Decode(cfg)
		if err != nil {
			return corev1.PodSpec{}, fmt.Errorf("decode Secret %s: %w", cfg.Name, err)
		}
		var sockets []string
		for _, id := range sidecar.Keys(on) {
			sockets = append(sockets, config.KMSEndpoint(id))
		}
		if len(sockets) == 0 {
			return corev1.PodSpec{}, fmt.Errorf("decode Secret %s: it has no KMS key to be checked", cfg.Name)
		}
		field := func(name, path string) corev1.EnvVar {
			return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
		}
		spec := corev1.PodSpec{
			HostNetwork:  true,
			NodeSelector: map[string]string{deployer.ControlPlaneLabel: ""},
			Tolerations:  []corev1.Toleration{{Key: deployer.ControlPlaneLabel, Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: Container, Image: image,
				Env: []corev1.EnvVar{
					field(PodNameVariable, "metadata.name"), field(PodNamespaceVariable, "metadata.namespace"),
				},
				Args: []string{"--" + ConfigHashFlag + "=" + hash, "--" + SocketsFlag + "=" + strings.Join(sockets, ",")},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		}
		err = sidecar.Render(&spec, on, sidecar.Options{Containers: []string{Container}, Secret: encryption.PreflightConfigName})
		return spec, err
	}
}
