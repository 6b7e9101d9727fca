package references

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Reference is one place in which a Pod refers to a Secret.
type Reference struct {
	Field string // the path of Name, for messages

	// Name is the field itself: writing to it changes the Pod.
	Name *string

	// Keys are those that the place gives to the container; nil means all.
	Keys []string

	// Optional is whether the Pod starts without the Secret.
	Optional bool

	// Kubelet is whether the kubelet hands the content to the containers, so that
	// placeholders can stand in for it. Otherwise somebody on the node needs the real
	// values, a volume driver or whoever pulls images.
	Kubelet bool
}

// Find returns all references of a Pod, in order.
func Find(spec *corev1.PodSpec) []Reference {
	f := &finder{}
	for i := range spec.Volumes {
		f.volume(fmt.Sprintf("spec.volumes[%d]", i), &spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		f.container(fmt.Sprintf("spec.initContainers[%d]", i), c.Env, c.EnvFrom)
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		f.container(fmt.Sprintf("spec.containers[%d]", i), c.Env, c.EnvFrom)
	}
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i]
		f.container(fmt.Sprintf("spec.ephemeralContainers[%d]", i), c.Env, c.EnvFrom)
	}
	for i := range spec.ImagePullSecrets {
		f.add(Reference{Field: fmt.Sprintf("spec.imagePullSecrets[%d].name", i), Name: &spec.ImagePullSecrets[i].Name})
	}
	return f.found
}

type finder struct{ found []Reference }

func (f *finder) add(r Reference) {
	if *r.Name != "" {
		f.found = append(f.found, r)
	}
}

func (f *finder) container(path string, env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for i := range env {
		if env[i].ValueFrom == nil || env[i].ValueFrom.SecretKeyRef == nil {
			continue
		}
		ref := env[i].ValueFrom.SecretKeyRef
		f.add(Reference{
			Field: fmt.Sprintf("%s.env[%d].valueFrom.secretKeyRef.name", path, i), Name: &ref.Name,
			Keys: []string{ref.Key}, Optional: isTrue(ref.Optional), Kubelet: true,
		})
	}
	for i := range from {
		if ref := from[i].SecretRef; ref != nil {
			f.add(Reference{
				Field: fmt.Sprintf("%s.envFrom[%d].secretRef.name", path, i), Name: &ref.Name,
				Optional: isTrue(ref.Optional), Kubelet: true,
			})
		}
	}
}

func (f *finder) volume(path string, v *corev1.Volume) {
	if s := v.Secret; s != nil {
		f.add(Reference{
			Field: path + ".secret.secretName", Name: &s.SecretName, Keys: keys(s.Items), Optional: isTrue(s.Optional), Kubelet: true,
		})
	}
	if p := v.Projected; p != nil {
		for i := range p.Sources {
			if s := p.Sources[i].Secret; s != nil {
				f.add(Reference{
					Field: fmt.Sprintf("%s.projected.sources[%d].secret.name", path, i), Name: &s.Name,
					Keys: keys(s.Items), Optional: isTrue(s.Optional), Kubelet: true,
				})
			}
		}
	}
	if v.AzureFile != nil {
		f.add(Reference{Field: path + ".azureFile.secretName", Name: &v.AzureFile.SecretName})
	}
	for _, d := range drivers(v) {
		if d.ref != nil {
			f.add(Reference{Field: path + "." + d.field + ".name", Name: &d.ref.Name})
		}
	}
}

// driver is a volume whose driver reads a Secret.
type driver struct {
	field string
	ref   *corev1.LocalObjectReference
}

func drivers(v *corev1.Volume) (out []driver) {
	if v.CSI != nil {
		out = append(out, driver{"csi.nodePublishSecretRef", v.CSI.NodePublishSecretRef})
	}
	if v.FlexVolume != nil {
		out = append(out, driver{"flexVolume.secretRef", v.FlexVolume.SecretRef})
	}
	if v.ISCSI != nil {
		out = append(out, driver{"iscsi.secretRef", v.ISCSI.SecretRef})
	}
	if v.CephFS != nil {
		out = append(out, driver{"cephfs.secretRef", v.CephFS.SecretRef})
	}
	if v.RBD != nil {
		out = append(out, driver{"rbd.secretRef", v.RBD.SecretRef})
	}
	if v.Cinder != nil {
		out = append(out, driver{"cinder.secretRef", v.Cinder.SecretRef})
	}
	if v.ScaleIO != nil {
		out = append(out, driver{"scaleIO.secretRef", v.ScaleIO.SecretRef})
	}
	if v.StorageOS != nil {
		out = append(out, driver{"storageos.secretRef", v.StorageOS.SecretRef})
	}
	return out
}

// keys returns the keys of items, nil if there are none, for then all are meant.
func keys(items []corev1.KeyToPath) (out []string) {
	for _, item := range items {
		out = append(out, item.Key)
	}
	return out
}

func isTrue(b *bool) bool { return b != nil && *b }
