package sidecar

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

// Names of what is written into Pods.
const (
	// ContainerPrefix is followed by the id of a key.
	ContainerPrefix = "kms-plugin-"

	// SocketVolume is the volume of the sockets of all plugins, DataPrefix that of what
	// the plugin of a key refers to.
	SocketVolume = "kms-plugin-socket"
	DataPrefix   = "kms-plugin-data-"

	// SocketDir and DataDir are where containers find them.
	SocketDir = "/var/run/kmsplugin"
	DataDir   = "/var/run/secrets/kms-plugin"
)

// Options say where a Pod finds things.
type Options struct {
	// Containers are those that talk to the plugins, by name; all must be there.
	Containers []string

	// HostSockets is the folder of the node for sockets; empty to share them inside of
	// the Pod alone.
	HostSockets string

	// HostData is the folder of the node with the files of [Files]. If it is empty, the
	// plugins are given entries of the Secret Secret instead, which is in the namespace
	// of the Pod.
	HostData string
	Secret   string
}

// Errors of configurations that cannot be rendered.
var (
	ErrNoPlugin    = errors.New("how its KMS plugin is run is not known")
	ErrNoReference = errors.New("its KMS plugin refers to data that is not there")
	errNoContainer = errors.New("there is no such container")
)

// Render writes the plugins of the KMS keys of a configuration into spec, the newest
// first, in place of those that are there.
func Render(spec *corev1.PodSpec, on state.State, o Options) error {
	keys := kmsKeys(on)
	next := spec.DeepCopy()
	Strip(next)
	var plugins []corev1.Container
	for i := range keys {
		p, err := newPlugin(&keys[i])
		if err != nil {
			return fmt.Errorf("render key %d: %w", keys[i].ID, err)
		}
		plugins = append(plugins, p.container(o))
		if v := p.volume(o); v != nil {
			next.Volumes = append(next.Volumes, *v)
		}
	}
	if len(plugins) > 0 {
		next.InitContainers = append(plugins, next.InitContainers...)
		next.Volumes = append(next.Volumes, sockets(o))
		if err := mount(next, o.Containers); err != nil {
			return err
		}
	}
	*spec = *next
	return nil
}

// Keys returns the ids of the KMS keys of a configuration, the newest first.
func Keys(on state.State) []uint64 {
	keys := kmsKeys(on)
	ids := make([]uint64, len(keys))
	for i := range keys {
		ids[i] = keys[i].ID
	}
	return ids
}

// Alone returns the spec of a Pod that runs the plugin of one key and nothing else, on
// the node's network, and the version of how it is run.
func Alone(on state.State, id uint64, o Options) (spec *corev1.PodSpec, version int64, err error) {
	keys := kmsKeys(on)
	i := slices.IndexFunc(keys, func(k state.Key) bool { return k.ID == id })
	if i < 0 {
		return nil, 0, fmt.Errorf("render key %d: %w", id, ErrNoPlugin)
	}
	p, err := newPlugin(&keys[i])
	if err != nil {
		return nil, 0, fmt.Errorf("render key %d: %w", id, err)
	}
	c := p.container(o)
	c.RestartPolicy = nil
	spec = &corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{c}, Volumes: []corev1.Volume{sockets(o)}}
	if v := p.volume(o); v != nil {
		spec.Volumes = append(spec.Volumes, *v)
	}
	return spec, keys[i].KMS.Version, nil
}

// kmsKeys returns the KMS keys of a configuration, the newest first.
func kmsKeys(on state.State) []state.Key {
	return slices.DeleteFunc(on.ReadKeys(), func(k state.Key) bool { return k.Mode != state.KMS })
}

// Strip takes all plugins out of spec.
func Strip(spec *corev1.PodSpec) {
	managed := func(volume string) bool { return volume == SocketVolume || strings.HasPrefix(volume, DataPrefix) }
	spec.InitContainers = slices.DeleteFunc(spec.InitContainers, func(c corev1.Container) bool {
		_, ok := state.ParseID(c.Name)
		return ok && strings.HasPrefix(c.Name, ContainerPrefix)
	})
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return managed(v.Name) })
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			list[i].VolumeMounts = slices.DeleteFunc(list[i].VolumeMounts, func(m corev1.VolumeMount) bool { return managed(m.Name) })
		}
	}
}

func sockets(o Options) corev1.Volume {
	v := corev1.Volume{Name: SocketVolume}
	if o.HostSockets == "" {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	} else {
		v.HostPath = &corev1.HostPathVolumeSource{Path: o.HostSockets, Type: ptr.To(corev1.HostPathDirectoryOrCreate)}
	}
	return v
}

func mount(spec *corev1.PodSpec, containers []string) error {
	for _, name := range containers {
		i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("mount the sockets of KMS plugins in container %s: %w", name, errNoContainer)
		}
		c := &spec.Containers[i]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: SocketVolume, MountPath: SocketDir})
	}
	return nil
}
