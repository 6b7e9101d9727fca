package registry

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validation of volumes. Of the sources that only a storage system of old knows,
// nothing is checked but that they are alone.

// podVolumes are the volumes of a pod by name, those that are valid.
type podVolumes map[string]*corev1.Volume

func validateVolumes(list []corev1.Volume, p *field.Path) (podVolumes, field.ErrorList) {
	var errs field.ErrorList
	good := make(podVolumes, len(list))
	for i := range list {
		v, at := &list[i], p.Index(i)
		wrong := validateVolumeSource(&v.VolumeSource, at)
		if v.Name == "" {
			wrong = append(wrong, field.Required(at.Child("name"), ""))
		} else {
			wrong = append(wrong, dnsLabel(v.Name, at.Child("name"))...)
		}
		if good[v.Name] != nil {
			wrong = append(wrong, field.Duplicate(at.Child("name"), v.Name))
		}
		if len(wrong) == 0 {
			good[v.Name] = v
		}
		errs = append(errs, wrong...)
	}
	return good, errs
}

func validateVolumeSource(s *corev1.VolumeSource, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	found := false
	// A real server names a few of them otherwise when there is one too many.
	add := func(name, surplus string, set bool, check func(*field.Path) field.ErrorList) {
		switch {
		case !set:
		case found:
			errs = append(errs, field.Forbidden(p.Child(surplus), "may not specify more than 1 volume type"))
		default:
			found = true
			if check != nil {
				errs = append(errs, check(p.Child(name))...)
			}
		}
	}
	plain := func(name string, set bool, check func(*field.Path) field.ErrorList) { add(name, name, set, check) }
	plain("emptyDir", s.EmptyDir != nil, func(p *field.Path) field.ErrorList { return validateEmptyDir(s.EmptyDir, p) })
	plain("hostPath", s.HostPath != nil, func(p *field.Path) field.ErrorList { return validateHostPath(s.HostPath, p) })
	plain("gitRepo", s.GitRepo != nil, nil)
	plain("gcePersistentDisk", s.GCEPersistentDisk != nil, nil)
	plain("awsElasticBlockStore", s.AWSElasticBlockStore != nil, nil)
	plain("secret", s.Secret != nil, func(p *field.Path) field.ErrorList {
		return validateFiles(s.Secret.SecretName, p.Child("secretName"), s.Secret.DefaultMode, s.Secret.Items, p)
	})
	plain("nfs", s.NFS != nil, func(p *field.Path) field.ErrorList { return validateNFS(s.NFS, p) })
	plain("iscsi", s.ISCSI != nil, nil)
	plain("glusterfs", s.Glusterfs != nil, nil)
	plain("flocker", s.Flocker != nil, nil)
	plain("persistentVolumeClaim", s.PersistentVolumeClaim != nil, func(p *field.Path) field.ErrorList {
		if s.PersistentVolumeClaim.ClaimName == "" {
			return field.ErrorList{field.Required(p.Child("claimName"), "")}
		}
		return nil
	})
	plain("rbd", s.RBD != nil, nil)
	plain("cinder", s.Cinder != nil, nil)
	add("cephfs", "cephFS", s.CephFS != nil, nil)
	plain("quobyte", s.Quobyte != nil, nil)
	add("downwardAPI", "downwarAPI", s.DownwardAPI != nil, func(p *field.Path) field.ErrorList { return validateDownward(s.DownwardAPI, p) })
	plain("fc", s.FC != nil, nil)
	plain("flexVolume", s.FlexVolume != nil, nil)
	plain("configMap", s.ConfigMap != nil, func(p *field.Path) field.ErrorList {
		return validateFiles(s.ConfigMap.Name, p.Child("name"), s.ConfigMap.DefaultMode, s.ConfigMap.Items, p)
	})
	plain("azureFile", s.AzureFile != nil, nil)
	plain("vsphereVolume", s.VsphereVolume != nil, nil)
	plain("photonPersistentDisk", s.PhotonPersistentDisk != nil, nil)
	plain("portworxVolume", s.PortworxVolume != nil, nil)
	plain("azureDisk", s.AzureDisk != nil, nil)
	plain("storageos", s.StorageOS != nil, nil)
	plain("projected", s.Projected != nil, func(p *field.Path) field.ErrorList { return validateProjected(s.Projected, p) })
	plain("scaleIO", s.ScaleIO != nil, nil)
	plain("csi", s.CSI != nil, func(p *field.Path) field.ErrorList { return validateInlineCSI(s.CSI, p) })
	plain("ephemeral", s.Ephemeral != nil, func(p *field.Path) field.ErrorList {
		if s.Ephemeral.VolumeClaimTemplate == nil {
			return field.ErrorList{field.Required(p.Child("volumeClaimTemplate"), "")}
		}
		return nil
	})
	plain("image", s.Image != nil, func(p *field.Path) field.ErrorList {
		return oneOf(p.Child("pullPolicy"), s.Image.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	})
	if !found {
		errs = append(errs, field.Required(p, "must specify a volume type"))
	}
	return errs
}

func validateEmptyDir(e *corev1.EmptyDirVolumeSource, p *field.Path) field.ErrorList {
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		return field.ErrorList{field.Forbidden(p.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")}
	}
	return nil
}

// validateFiles validates a volume with the files of a Secret or ConfigMap.
func validateFiles(name string, named *field.Path, mode *int32, items []corev1.KeyToPath, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(named, ""))
	}
	errs = append(errs, validateMode(mode, p.Child("defaultMode"))...)
	return append(errs, validateItems(items, p.Child("items"))...)
}

func validateDownward(d *corev1.DownwardAPIVolumeSource, p *field.Path) field.ErrorList {
	errs := validateMode(d.DefaultMode, p.Child("defaultMode"))
	for i := range d.Items {
		errs = append(errs, validateDownwardFile(&d.Items[i], p)...)
	}
	return errs
}

func validateHostPath(h *corev1.HostPathVolumeSource, p *field.Path) field.ErrorList {
	if h.Path == "" {
		return field.ErrorList{field.Required(p.Child("path"), "")}
	}
	errs := validateNoBacksteps(h.Path, p.Child("path"))
	return append(errs, known(p.Child("type"), h.Type, corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory,
		corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
}

func validateNFS(n *corev1.NFSVolumeSource, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n.Server == "" {
		errs = append(errs, field.Required(p.Child("server"), ""))
	}
	if n.Path == "" {
		errs = append(errs, field.Required(p.Child("path"), ""))
	}
	if !strings.HasPrefix(n.Path, "/") {
		errs = append(errs, field.Invalid(p.Child("path"), n.Path, "must be an absolute path"))
	}
	return errs
}

func validateInlineCSI(c *corev1.CSIVolumeSource, p *field.Path) field.ErrorList {
	const most = 63
	at := p.Child("driver")
	var errs field.ErrorList
	if c.Driver == "" {
		errs = append(errs, field.Required(at, ""))
	}
	if len(c.Driver) > most {
		errs = append(errs, field.TooLong(at, "", most))
	}
	for _, msg := range validation.IsDNS1123Subdomain(strings.ToLower(c.Driver)) {
		errs = append(errs, field.Invalid(at, c.Driver, msg))
	}
	if c.NodePublishSecretRef != nil && c.NodePublishSecretRef.Name == "" {
		errs = append(errs, field.Required(p.Child("nodePublishSecretRef", "name"), ""))
	}
	return errs
}

const fileMode = 0o777

func validateMode(mode *int32, p *field.Path) field.ErrorList {
	if mode == nil || *mode >= 0 && *mode <= fileMode {
		return nil
	}
	return field.ErrorList{field.Invalid(p, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
}

func validateItems(list []corev1.KeyToPath, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		at := p.Index(i)
		if list[i].Key == "" {
			errs = append(errs, field.Required(at.Child("key"), ""))
		}
		if list[i].Path == "" {
			errs = append(errs, field.Required(at.Child("path"), ""))
		}
		errs = append(errs, validateFilePath(list[i].Path, at.Child("path"))...)
		errs = append(errs, validateMode(list[i].Mode, at.Child("mode"))...)
	}
	return errs
}

// validateFilePath checks the path of a file in a volume that is written for the pod.
func validateFilePath(path string, p *field.Path) field.ErrorList {
	errs := validateDescending(path, p)
	if strings.HasPrefix(path, "..") && !strings.HasPrefix(path, "../") {
		errs = append(errs, field.Invalid(p, path, "must not start with '..'"))
	}
	return errs
}

func validateDownwardFile(f *corev1.DownwardAPIVolumeFile, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if f.Path == "" {
		errs = append(errs, field.Required(p.Child("path"), ""))
	}
	errs = append(errs, validateFilePath(f.Path, p.Child("path"))...)
	switch {
	case f.FieldRef != nil:
		errs = append(errs, validateFieldRef(f.FieldRef, volumeFieldPaths, p.Child("fieldRef"))...)
		if f.ResourceFieldRef != nil {
			errs = append(errs, field.Invalid(p, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
		}
	case f.ResourceFieldRef != nil:
		errs = append(errs, validateResourceFieldRef(f.ResourceFieldRef, p.Child("resourceFieldRef"), true)...)
	default:
		errs = append(errs, field.Required(p, "one of fieldRef and resourceFieldRef is required"))
	}
	return append(errs, validateMode(f.Mode, p.Child("mode"))...)
}

const (
	leastTokenSeconds = 600
	mostTokenSeconds  = 1 << 32
)

func validateProjected(v *corev1.ProjectedVolumeSource, p *field.Path) field.ErrorList {
	errs := validateMode(v.DefaultMode, p.Child("defaultMode"))
	paths := map[string]bool{}
	place := func(path, name string) {
		if path != "" && paths[path] {
			errs = append(errs, field.Invalid(p, name, "conflicting duplicate paths"))
		}
		paths[path] = true
	}
	keys := func(name string, items []corev1.KeyToPath, at *field.Path) {
		if name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		errs = append(errs, validateItems(items, at.Child("items"))...)
		for _, item := range items {
			place(item.Path, name)
		}
	}
	for i := range v.Sources {
		s, at, sources := &v.Sources[i], p.Child("sources").Index(i), 0
		if s.Secret != nil {
			sources++
			keys(s.Secret.Name, s.Secret.Items, at.Child("secret"))
		}
		if s.ConfigMap != nil {
			sources++
			keys(s.ConfigMap.Name, s.ConfigMap.Items, at.Child("configMap"))
		}
		if s.DownwardAPI != nil {
			sources++
			for j := range s.DownwardAPI.Items {
				errs = append(errs, validateDownwardFile(&s.DownwardAPI.Items[j], at.Child("downwardAPI"))...)
				place(s.DownwardAPI.Items[j].Path, s.DownwardAPI.Items[j].Path)
			}
		}
		if s.ServiceAccountToken != nil {
			sources++
			errs = append(errs, validateTokenSource(s.ServiceAccountToken, p, at.Child("serviceAccountToken"))...)
		}
		if sources > 1 {
			errs = append(errs, field.Forbidden(at, "may not specify more than 1 volume type per source"))
		}
	}
	return errs
}

// validateTokenSource checks a token of a volume; what is wrong with its path is said of
// the volume.
func validateTokenSource(s *corev1.ServiceAccountTokenProjection, volume, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := p.Child("expirationSeconds")
	switch n := s.ExpirationSeconds; {
	case n == nil:
		errs = append(errs, field.Required(at, ""))
	case *n < leastTokenSeconds:
		errs = append(errs, field.Invalid(at, *n, "may not specify a duration less than 10 minutes"))
	case *n > mostTokenSeconds:
		errs = append(errs, field.Invalid(at, *n, "may not specify a duration larger than 2^32 seconds"))
	}
	if s.Path == "" {
		return append(errs, field.Required(volume.Child("path"), ""))
	}
	return append(errs, validateFilePath(s.Path, volume.Child("path"))...)
}
