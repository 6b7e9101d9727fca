package sidecar

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// Variables of the environment of plugins. A policy cannot set them.
const (
	EnvSocket    = "KMS_PLUGIN_SOCKET" // a URL, such as unix:///var/run/kmsplugin/kms-1.sock
	EnvEndpoint  = "KMS_PLUGIN_ENDPOINT"
	EnvKeyPath   = "KMS_PLUGIN_KEY_PATH"
	EnvNamespace = "KMS_PLUGIN_NAMESPACE"
	EnvData      = "KMS_PLUGIN_DATA" // the folder of what the plugin refers to: secrets/name/entry, configmaps/name/entry

	// EnvMetricsPort is always 0: two plugins would collide on any other.
	EnvMetricsPort = "KMS_PLUGIN_METRICS_PORT"
)

// metricsFlag is one that gets the value 0 if a policy has it.
const metricsFlag = "metrics-port"

// plugin is that of a key.
type plugin struct {
	id  string
	key *state.Key
	kms v1alpha1.KMS
}

func newPlugin(k *state.Key) (*plugin, error) {
	if k.KMS == nil || k.KMS.Plugin == "" {
		return nil, ErrNoPlugin
	}
	p := &plugin{id: strconv.FormatUint(k.ID, 10), key: k}
	if err := json.Unmarshal([]byte(k.KMS.Plugin), &p.kms); err != nil {
		return nil, fmt.Errorf("decode how its KMS plugin is run: %w", err)
	}
	if ref := p.kms.References.Secret; ref != nil {
		for _, entry := range ref.Keys {
			if _, ok := k.KMS.Secrets[state.Reference{Object: ref.Name, Entry: entry}]; !ok {
				return nil, fmt.Errorf("entry %s of Secret %s: %w", entry, ref.Name, ErrNoReference)
			}
		}
	}
	if ref := p.kms.References.ConfigMap; ref != nil {
		for _, entry := range ref.Keys {
			if _, ok := k.KMS.ConfigMaps[state.Reference{Object: ref.Name, Entry: entry}]; !ok {
				return nil, fmt.Errorf("entry %s of ConfigMap %s: %w", entry, ref.Name, ErrNoReference)
			}
		}
	}
	return p, nil
}

// container is one that starts before all others and ends after them: an API server
// that shuts down still needs the plugin.
func (p *plugin) container(o Options) corev1.Container {
	c := corev1.Container{
		Name: ContainerPrefix + p.id, Image: p.kms.Plugin.Image, Args: p.args(), Env: p.env(),
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		SecurityContext: &corev1.SecurityContext{
			ReadOnlyRootFilesystem: ptr.To(true), AllowPrivilegeEscalation: ptr.To(false),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: SocketVolume, MountPath: SocketDir}},
	}
	if p.volume(o) != nil {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: DataPrefix + p.id, MountPath: DataDir, ReadOnly: true})
	}
	if o.HostData != "" {
		c.SecurityContext.RunAsUser = ptr.To[int64](0) // the files are for root alone
	}
	return c
}

func (p *plugin) args() []string {
	var args []string
	value := false // of a flag before
	for _, arg := range p.kms.Plugin.Args {
		name, _, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case value:
			arg, value = "0", false
		case !strings.HasPrefix(arg, "-") || name != metricsFlag:
		case has:
			arg = arg[:strings.IndexByte(arg, '=')] + "=0"
		default:
			value = true
		}
		args = append(args, arg)
	}
	return args
}

func (p *plugin) env() []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: EnvSocket, Value: config.KMSEndpoint(p.key.ID)}, {Name: EnvMetricsPort, Value: "0"}, {Name: EnvData, Value: DataDir},
		{Name: EnvEndpoint, Value: p.kms.Identity.Endpoint}, {Name: EnvKeyPath, Value: p.kms.Identity.KeyPath}, {Name: EnvNamespace, Value: p.kms.Identity.Namespace},
	}
	ours := slices.Clone(env)
	for _, e := range p.kms.Plugin.Env {
		if !slices.ContainsFunc(ours, func(o corev1.EnvVar) bool { return o.Name == e.Name }) {
			env = append(env, corev1.EnvVar{Name: e.Name, Value: e.Value})
		}
	}
	return env
}

// volume is that of what the plugin refers to; nil if that is nothing.
func (p *plugin) volume(o Options) *corev1.Volume {
	items := p.items()
	if len(items) == 0 {
		return nil
	}
	v := &corev1.Volume{Name: DataPrefix + p.id}
	if o.HostData != "" {
		v.HostPath = &corev1.HostPathVolumeSource{Path: path.Join(o.HostData, ContainerPrefix+p.id), Type: ptr.To(corev1.HostPathDirectory)}
		return v
	}
	v.Secret = &corev1.SecretVolumeSource{SecretName: o.Secret, DefaultMode: ptr.To[int32](0o400), Items: items}
	return v
}

// items are the entries of the configuration's Secret that the plugin refers to, and
// the paths that they have for it.
func (p *plugin) items() []corev1.KeyToPath {
	var items []corev1.KeyToPath
	for _, ref := range state.References(p.key.KMS.Secrets) {
		items = append(items, corev1.KeyToPath{Key: config.PluginSecret + ref.String() + "-" + p.id, Path: path.Join("secrets", ref.Object, ref.Entry)})
	}
	for _, ref := range state.References(p.key.KMS.ConfigMaps) {
		items = append(items, corev1.KeyToPath{Key: config.PluginMap + ref.String() + "-" + p.id, Path: path.Join("configmaps", ref.Object, ref.Entry)})
	}
	return items
}
