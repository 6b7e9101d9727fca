package apiserver

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The admission plug-in ServiceAccount: see [Options].ServiceAccounts.

var serviceAccountResource = schema.GroupResource{Resource: "serviceaccounts"}

const (
	defaultServiceAccount = "default"
	tokenMountPath        = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenVolumePrefix     = "kube-api-access-"
	tokenSeconds          = 3607 // an hour, and what tells such tokens from those that somebody asked for
	mountableSecrets      = "kubernetes.io/enforce-mountable-secrets"
)

// admitServiceAccount gives a new pod its account: the name, the account's pull
// secrets, and a volume with a token.
func (c *call) admitServiceAccount(p *corev1.Pod) error {
	forbidden := func(err error) error { return apierrors.NewForbidden(c.ep.gr, p.Name, err) }
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		if err := checkMirror(p); err != nil {
			return forbidden(err)
		}
		return nil
	}
	spec := &p.Spec
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = defaultServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	o, ok := peers{c.store}.Peer(serviceAccountResource, c.ns, spec.ServiceAccountName)
	if !ok {
		return forbidden(fmt.Errorf("error looking up service account %s/%s: serviceaccount %q not found", c.ns, spec.ServiceAccountName, spec.ServiceAccountName))
	}
	account := o.(*corev1.ServiceAccount)
	if enforce, err := strconv.ParseBool(account.Annotations[mountableSecrets]); err == nil && enforce {
		return errNotModelled("the annotation " + mountableSecrets)
	}
	if automounts(account, p) {
		c.mountToken(spec)
	}
	if len(spec.ImagePullSecrets) == 0 {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, account.ImagePullSecrets...)
	}
	return nil
}

// checkMirror refuses what the image of a static pod may not refer to.
func checkMirror(p *corev1.Pod) error {
	if p.Spec.ServiceAccountName != "" {
		return errors.New("a mirror pod may not reference service accounts")
	}
	if usesSecrets(&p.Spec) {
		return errors.New("a mirror pod may not reference secrets")
	}
	for i := range p.Spec.Volumes {
		projected := p.Spec.Volumes[i].Projected
		for j := 0; projected != nil && j < len(projected.Sources); j++ {
			if projected.Sources[j].ServiceAccountToken != nil {
				return errors.New("a mirror pod may not use ServiceAccountToken volume projections")
			}
		}
	}
	return nil
}

// usesSecrets reports whether a pod refers to any secret.
func usesSecrets(s *corev1.PodSpec) bool {
	if len(s.ImagePullSecrets) > 0 {
		return true
	}
	for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			for _, from := range list[i].EnvFrom {
				if from.SecretRef != nil {
					return true
				}
			}
			for _, env := range list[i].Env {
				if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
					return true
				}
			}
		}
	}
	for i := range s.Volumes {
		v := &s.Volumes[i]
		if v.Secret != nil {
			return true
		}
		for j := 0; v.Projected != nil && j < len(v.Projected.Sources); j++ {
			if v.Projected.Sources[j].Secret != nil {
				return true
			}
		}
	}
	return false
}

// automounts reports whether the pod gets a token. What the pod says wins.
func automounts(account *corev1.ServiceAccount, p *corev1.Pod) bool {
	switch {
	case p.Spec.AutomountServiceAccountToken != nil:
		return *p.Spec.AutomountServiceAccountToken
	case account.AutomountServiceAccountToken != nil:
		return *account.AutomountServiceAccountToken
	}
	return true
}

// mountToken mounts a volume with a token into every container that has nothing in
// its place, and adds it to the pod if that is any.
func (c *call) mountToken(s *corev1.PodSpec) {
	name, there := "", false
	for i := range s.Volumes {
		if strings.HasPrefix(s.Volumes[i].Name, tokenVolumePrefix) {
			name, there = s.Volumes[i].Name, true
			break
		}
	}
	if name == "" {
		name = c.store.generateName(tokenVolumePrefix)
	}
	mount := corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenMountPath}
	mounted := false
	// What was sent is still looked at, to see who owns what.
	s.InitContainers, s.Containers = slices.Clone(s.InitContainers), slices.Clone(s.Containers)
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			if !mounts(&list[i], tokenMountPath) {
				list[i].VolumeMounts = append(list[i].VolumeMounts, mount)
				mounted = true
			}
		}
	}
	if mounted && !there {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}})
	}
}

func mounts(c *corev1.Container, path string) bool {
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].MountPath == path {
			return true
		}
	}
	return false
}

func tokenVolume() *corev1.ProjectedVolumeSource {
	mode, seconds := corev1.ProjectedVolumeSourceDefaultMode, int64(tokenSeconds)
	namespace := &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}
	return &corev1.ProjectedVolumeSource{
		DefaultMode: &mode,
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: namespace}}}},
		},
	}
}
