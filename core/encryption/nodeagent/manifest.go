package nodeagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/sidecar"
)

// RevisionLabel is the label of the API server's Pod that has its revision.
const RevisionLabel = deployer.RevisionLabel

const (
	configFlag = "--encryption-provider-config"
	reloadFlag = "--encryption-provider-config-automatic-reload"

	// configVolume is the volume of the folder that the configuration is in.
	configVolume = "seedbed-encryption"
)

// manifest is a file that a kubelet runs a Pod from.
type manifest struct {
	name string
	pod  *corev1.Pod
}

var (
	errNoManifest = errors.New("the node runs no API server from it")
	errContainer  = errors.New("it has no such container")
	errLabel      = errors.New("its label " + RevisionLabel + " is no number")
)

// readServer reads the manifest of the API server, which nobody may change who is given
// it. It is decoded when it has changed.
func (a *Agent) readServer(ctx context.Context) (*manifest, error) {
	name := a.cfg.Manifest
	raw, err := a.read(ctx, name)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, errNoManifest)
	}
	if a.server == nil || !bytes.Equal(raw, a.serverRaw) {
		pod := &corev1.Pod{}
		if err := yaml.Unmarshal(raw, pod); err != nil {
			return nil, fmt.Errorf("decode manifest %s: %w", name, err)
		}
		a.server, a.serverRaw = pod, raw
	}
	return &manifest{name: name, pod: a.server}, nil
}

// revision is the one that the manifest asks for; zero for none.
func (m *manifest) revision() (int64, error) {
	label := m.pod.Labels[RevisionLabel]
	if label == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(label, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("manifest %s: %w: %q", m.name, errLabel, label)
	}
	return n, nil
}

// load lets the API server load a file in a folder of the node, which it has mounted
// at the same place, and reload it by itself if it is to.
func (m *manifest) load(container, folder, file string, reload bool) error {
	spec := &m.pod.Spec
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	if i < 0 {
		return fmt.Errorf("manifest %s, container %s: %w", m.name, container, errContainer)
	}
	c := &spec.Containers[i]
	c.Command = slices.DeleteFunc(c.Command, ours)
	c.Args = slices.DeleteFunc(c.Args, ours)
	flags := []string{configFlag + "=" + file}
	if reload {
		flags = append(flags, reloadFlag+"=true")
	}
	if len(c.Command) > 1 { // the flags are there, as kubeadm writes them
		c.Command = append(c.Command, flags...)
	} else {
		c.Args = append(c.Args, flags...)
	}
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return v.Name == configVolume })
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: configVolume, MountPath: folder, ReadOnly: true})
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == configVolume })
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: configVolume, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: folder, Type: ptr.To(corev1.HostPathDirectory)},
	}})
	return nil
}

func ours(arg string) bool {
	return strings.HasPrefix(arg, configFlag+"=") || strings.HasPrefix(arg, reloadFlag+"=") || arg == reloadFlag
}

// label says which revision the Pod is of; zero for none in particular.
func (m *manifest) label(revision int64) {
	if revision == 0 {
		delete(m.pod.Labels, RevisionLabel)
		return
	}
	if m.pod.Labels == nil {
		m.pod.Labels = map[string]string{}
	}
	m.pod.Labels[RevisionLabel] = strconv.FormatInt(revision, 10)
}

// writeManifest replaces the file, if it says something else.
func (a *Agent) writeManifest(ctx context.Context, m *manifest) (changed bool, err error) {
	raw, err := yaml.Marshal(m.pod)
	if err != nil {
		return false, fmt.Errorf("encode manifest %s: %w", m.name, err)
	}
	return a.replace(ctx, m.name, raw)
}

// sameManifest reports whether two manifests say the same.
func sameManifest(a, b *manifest) (bool, error) {
	x, err := yaml.Marshal(a.pod)
	if err != nil {
		return false, fmt.Errorf("encode manifest %s: %w", a.name, err)
	}
	y, err := yaml.Marshal(b.pod)
	if err != nil {
		return false, fmt.Errorf("encode manifest %s: %w", b.name, err)
	}
	return bytes.Equal(x, y), nil
}

// mountSockets lets the API server find the sockets of plugins in other Pods.
func mountSockets(pod *corev1.Pod, container, folder string) {
	sidecar.Strip(&pod.Spec)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: sidecar.SocketVolume, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: folder, Type: ptr.To(corev1.HostPathDirectoryOrCreate)},
	}})
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == container {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: sidecar.SocketVolume, MountPath: sidecar.SocketDir})
		}
	}
}
