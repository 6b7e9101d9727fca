package references_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/cloak/references"
)

const everywhere = `
volumes:
- {name: a, secret: {secretName: volume, optional: true}}
- {name: b, secret: {secretName: items, items: [{key: k1, path: p}, {key: k2, path: q}]}}
- {name: c, projected: {sources: [{configMap: {name: x}}, {secret: {name: projected, items: [{key: k, path: p}]}}]}}
- {name: d, csi: {driver: d, nodePublishSecretRef: {name: csi}}}
- {name: e, azureFile: {secretName: azure, shareName: s}}
- {name: f, flexVolume: {driver: d, secretRef: {name: flex}}}
- {name: g, iscsi: {iqn: i, targetPortal: t, lun: 0, secretRef: {name: iscsi}}}
- {name: h, cephfs: {monitors: [], secretRef: {name: cephfs}}}
- {name: i, rbd: {monitors: [], image: i, secretRef: {name: rbd}}}
- {name: j, cinder: {volumeID: v, secretRef: {name: cinder}}}
- {name: k, scaleIO: {gateway: g, system: s, secretRef: {name: scaleio}}}
- {name: l, storageos: {secretRef: {name: storageos}}}
- {name: m, emptyDir: {}}
initContainers:
- {name: i, env: [{name: A, value: b}, {name: B, valueFrom: {secretKeyRef: {name: init, key: k}}}]}
containers:
- {name: c, envFrom: [{configMapRef: {name: x}}, {secretRef: {name: from, optional: true}}]}
- {name: d, env: [{name: B, valueFrom: {secretKeyRef: {name: env, key: k, optional: false}}}]}
ephemeralContainers:
- {name: e, envFrom: [{secretRef: {name: debug}}]}
imagePullSecrets: [{name: pull}, {}]
`

// Section 2.4: which places there are, and what each gives.
func TestFind(t *testing.T) {
	var spec corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(everywhere), &spec); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range references.Find(&spec) {
		line := r.Field + " " + *r.Name
		if r.Keys != nil {
			line += " [" + strings.Join(r.Keys, " ") + "]"
		}
		if r.Optional {
			line += " optional"
		}
		if !r.Kubelet {
			line += " driver"
		}
		got = append(got, line)
		*r.Name += "-kloak"
	}
	want := []string{
		"spec.volumes[0].secret.secretName volume optional",
		"spec.volumes[1].secret.secretName items [k1 k2]",
		"spec.volumes[2].projected.sources[1].secret.name projected [k]",
		"spec.volumes[3].csi.nodePublishSecretRef.name csi driver",
		"spec.volumes[4].azureFile.secretName azure driver",
		"spec.volumes[5].flexVolume.secretRef.name flex driver",
		"spec.volumes[6].iscsi.secretRef.name iscsi driver",
		"spec.volumes[7].cephfs.secretRef.name cephfs driver",
		"spec.volumes[8].rbd.secretRef.name rbd driver",
		"spec.volumes[9].cinder.secretRef.name cinder driver",
		"spec.volumes[10].scaleIO.secretRef.name scaleio driver",
		"spec.volumes[11].storageos.secretRef.name storageos driver",
		"spec.initContainers[0].env[1].valueFrom.secretKeyRef.name init [k]",
		"spec.containers[0].envFrom[1].secretRef.name from optional",
		"spec.containers[1].env[0].valueFrom.secretKeyRef.name env [k]",
		"spec.ephemeralContainers[0].envFrom[0].secretRef.name debug",
		"spec.imagePullSecrets[0].name pull driver",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, r := range references.Find(&spec) {
		if !strings.HasSuffix(*r.Name, "-kloak") {
			t.Errorf("%s was not written: %s", r.Field, *r.Name)
		}
	}
}

// Every field of a PodSpec that names a Secret is known: a new one in a later version
// of the API makes this fail.
func TestNoFieldIsForgotten(t *testing.T) {
	known := []string{
		"AzureFile.SecretName", "CSI.NodePublishSecretRef", "CephFS.SecretRef", "Cinder.SecretRef", "EnvFrom.SecretRef",
		"FlexVolume.SecretRef", "ISCSI.SecretRef", "ImagePullSecrets", "Projected.Sources.Secret", "RBD.SecretRef", "ScaleIO.SecretRef",
		"Secret.SecretName", "StorageOS.SecretRef", "ValueFrom.SecretKeyRef", "VolumeSource.Secret",
	}
	for _, field := range secretFields(reflect.TypeFor[corev1.PodSpec](), "", nil) {
		ok := false
		for _, k := range known {
			ok = ok || strings.HasSuffix(field, k)
		}
		if !ok {
			t.Errorf("%s refers to a Secret and is not known", field)
		}
	}
}

func secretFields(typ reflect.Type, path string, seen []reflect.Type) (out []string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	for _, s := range seen {
		if s == typ {
			return nil
		}
	}
	if typ.Kind() != reflect.Struct {
		return nil
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name := path + "." + f.Name
		if strings.Contains(f.Name, "Secret") && f.Name != "SecretFile" {
			out = append(out, name)
		}
		out = append(out, secretFields(f.Type, name, append(seen, typ))...)
	}
	return out
}
