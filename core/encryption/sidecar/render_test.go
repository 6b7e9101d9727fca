package sidecar_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/sidecar"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// cfg is a configuration with KMS keys of those ids for two resources, and an aescbc
// key.
func cfg(t *testing.T, ids ...uint64) *corev1.Secret {
	t.Helper()
	read := []state.Key{{ID: 2, Mode: state.AESCBC, Material: secret.New(make([]byte, state.MaterialSize))}}
	for _, id := range ids {
		provider, err := config.KMSProvider(apiserverv1.KMSConfiguration{APIVersion: "v2"})
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, state.Key{ID: id, Mode: state.KMS, Material: state.NoMaterial(), KMS: &state.KMSData{
			Provider: provider,
			Plugin: fmt.Sprintf(`{"identity":{"endpoint":"https://kms-%d","keyPath":"transit/k"},"plugin":{"image":"plugin:%d",
				"args":["--listen=$(KMS_PLUGIN_SOCKET)","--metrics-port=8080","-metrics-port","8080"],
				"env":[{"name":"LOG","value":"debug"},{"name":"KMS_PLUGIN_METRICS_PORT","value":"9"}]},
				"references":{"secret":{"name":"approle","keys":["role-id"]},"configMap":{"name":"ca","keys":["ca.crt"]}}}`, id, id),
			Secrets:    map[state.Reference]secret.Bytes{{Object: "approle", Entry: "role-id"}: secret.New([]byte("hush"))},
			ConfigMaps: map[state.Reference]string{{Object: "ca", Entry: "ca.crt"}: "PEM"},
		}})
	}
	var s state.State
	for _, name := range []string{"configmaps", "secrets"} {
		s = append(s, state.Resource{GroupResource: schema.GroupResource{Resource: name}, Read: read})
	}
	out, err := config.Encode(s, client.ObjectKey{Namespace: "ns", Name: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func pod() *corev1.PodSpec {
	return &corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "kms-plugin-wait"}},
		Containers: []corev1.Container{
			{Name: "kube-apiserver", VolumeMounts: []corev1.VolumeMount{{Name: "certs", MountPath: "/certs"}}}, {Name: "other"},
		},
		Volumes: []corev1.Volume{{Name: "certs"}},
	}
}

// on is what is in a configuration.
func on(t *testing.T, cfg *corev1.Secret) state.State {
	t.Helper()
	s, err := config.Decode(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var options = sidecar.Options{Containers: []string{"kube-apiserver"}, HostSockets: "/run/kms", HostData: "/etc/enc/rev-3"}

// brief writes what is in a Pod.
func brief(spec *corev1.PodSpec) string {
	var out []string
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			var mounts []string
			for _, m := range list[i].VolumeMounts {
				mounts = append(mounts, m.Name)
			}
			out = append(out, list[i].Name+"["+strings.Join(mounts, " ")+"]")
		}
	}
	for i := range spec.Volumes {
		out = append(out, spec.Volumes[i].Name)
	}
	return strings.Join(out, ", ")
}

// TestRender: the newest first, twice is once, and plugins go with their keys.
func TestRender(t *testing.T) {
	spec := pod()
	for range 2 {
		if err := sidecar.Render(spec, on(t, cfg(t, 1, 10, 3)), options); err != nil {
			t.Fatal(err)
		}
		want := "kms-plugin-10[kms-plugin-socket kms-plugin-data-10], kms-plugin-3[kms-plugin-socket kms-plugin-data-3], kms-plugin-1[kms-plugin-socket kms-plugin-data-1], " +
			"kms-plugin-wait[], kube-apiserver[certs kms-plugin-socket], other[], certs, kms-plugin-data-10, kms-plugin-data-3, kms-plugin-data-1, kms-plugin-socket"
		if d := cmp.Diff(want, brief(spec)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	p := spec.InitContainers[0]
	if d := cmp.Diff([]string{"--listen=$(KMS_PLUGIN_SOCKET)", "--metrics-port=0", "-metrics-port", "0"}, p.Args); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
	env := map[string]string{}
	for _, e := range p.Env {
		env[e.Name] += e.Value
	}
	want := map[string]string{
		"KMS_PLUGIN_SOCKET": "unix:///var/run/kmsplugin/kms-10.sock", "KMS_PLUGIN_METRICS_PORT": "0", "KMS_PLUGIN_DATA": "/var/run/secrets/kms-plugin",
		"KMS_PLUGIN_ENDPOINT": "https://kms-10", "KMS_PLUGIN_KEY_PATH": "transit/k", "KMS_PLUGIN_NAMESPACE": "", "LOG": "debug",
	}
	if d := cmp.Diff(want, env); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
	if p.Image != "plugin:10" || *p.RestartPolicy != corev1.ContainerRestartPolicyAlways || !*p.SecurityContext.ReadOnlyRootFilesystem || *p.SecurityContext.RunAsUser != 0 {
		t.Errorf("the container is %+v", p)
	}

	if err := sidecar.Render(spec, on(t, cfg(t, 3)), options); err != nil {
		t.Fatal(err)
	}
	if got, want := brief(spec), "kms-plugin-3[kms-plugin-socket kms-plugin-data-3], kms-plugin-wait[], kube-apiserver[certs kms-plugin-socket], other[], certs, kms-plugin-data-3, kms-plugin-socket"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := sidecar.Render(spec, on(t, cfg(t)), options); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(pod(), spec, cmp.Transformer("nil", func(s []corev1.VolumeMount) string { return fmt.Sprint(s) })); d != "" {
		t.Errorf("without keys, the Pod is not what it was:\n%s", d)
	}
}

// TestFromASecret mounts entries of the configuration's Secret.
func TestFromASecret(t *testing.T) {
	spec := pod()
	if err := sidecar.Render(spec, on(t, cfg(t, 4)), sidecar.Options{Secret: "c"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range spec.Volumes[1].Secret.Items {
		got = append(got, item.Key+" "+item.Path)
	}
	want := []string{"kms-plugin-secret-approle_role-id-4 secrets/approle/role-id", "kms-plugin-configmap-ca_ca.crt-4 configmaps/ca/ca.crt"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if spec.InitContainers[0].SecurityContext.RunAsUser != nil || spec.Volumes[2].EmptyDir == nil {
		t.Error("a Pod that is not of the node runs as root, or shares sockets with the node")
	}
}

// TestFiles are where the Pod has them mounted.
func TestFiles(t *testing.T) {
	files, err := sidecar.Files(cfg(t, 4, 3), on(t, cfg(t, 4, 3)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path+" "+string(f.Data))
	}
	want := []string{
		"kms-plugin-4/secrets/approle/role-id hush", "kms-plugin-4/configmaps/ca/ca.crt PEM",
		"kms-plugin-3/secrets/approle/role-id hush", "kms-plugin-3/configmaps/ca/ca.crt PEM",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestWhatIsMissing leaves the Pod as it was, and is named.
func TestWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		entry, want string
		is          error
	}{
		{"kms-plugin-config-3", "render key 3: how its KMS plugin is run is not known", sidecar.ErrNoPlugin},
		{"kms-plugin-secret-approle_role-id-3", "render key 3: entry role-id of Secret approle: its KMS plugin refers to data that is not there", sidecar.ErrNoReference},
		{"kms-plugin-configmap-ca_ca.crt-3", "render key 3: entry ca.crt of ConfigMap ca: its KMS plugin refers to data that is not there", sidecar.ErrNoReference},
	} {
		spec, broken := pod(), cfg(t, 4, 3)
		delete(broken.Data, c.entry)
		if err := sidecar.Render(spec, on(t, broken), options); !errors.Is(err, c.is) || err.Error() != c.want {
			t.Errorf("without %s: error %v, want %s", c.entry, err, c.want)
		}
		if d := cmp.Diff(pod(), spec); d != "" {
			t.Errorf("without %s, the Pod is half rendered:\n%s", c.entry, d)
		}
	}
	o := options
	o.Containers = []string{"nobody"}
	if err := sidecar.Render(pod(), on(t, cfg(t, 1)), o); err == nil {
		t.Error("mounted in a container that is not there")
	}
}
