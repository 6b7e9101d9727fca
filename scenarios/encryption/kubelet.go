package encryption

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/nodeagent"
	"github.com/seedbed-sim/seedbed/core/encryption/sidecar"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/disk"
)

// manifestPath is the file by which a kubelet knows the API server that it runs.
const manifestPath = nodeagent.DefaultManifest

// installed is that file as whoever made the cluster wrote it.
const installed = `apiVersion: v1
kind: Pod
metadata:
  name: kube-apiserver
  namespace: kube-system
  labels: {component: kube-apiserver, tier: control-plane}
spec:
  hostNetwork: true
  containers:
  - name: kube-apiserver
    image: registry.k8s.io/kube-apiserver
    command: [kube-apiserver, "--etcd-servers=https://127.0.0.1:2379"]
    readinessProbe: {httpGet: {path: /readyz, port: 6443, scheme: HTTPS}}
`

// manifest is what matters here of a static Pod's manifest.
type manifest struct {
	raw string

	revision int64  // the Pod's label; zero for none
	config   string // the file that the flag names
	reload   bool   // and that the API server loads again and again

	exclude []string // the checks that the kubelet leaves out when it asks whether it is ready
	gate    []string // the arguments of the gate; nil for none
	plugins []pluginSpec

	// early says that plugins are containers like any other: they end as soon as the
	// API server is asked to end.
	early bool
}

// readManifest reads the manifest of a Pod. What its plugins refer to is in other files.
func readManifest(ctx context.Context, files disk.FS, name string) (manifest, error) {
	raw, err := files.ReadFile(ctx, name)
	if err != nil {
		return manifest{}, fmt.Errorf("read the manifest: %w", err)
	}
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(raw, pod); err != nil {
		return manifest{}, fmt.Errorf("read the manifest: %w", err)
	}
	m := manifest{raw: string(raw)}
	if label := pod.Labels[deployer.RevisionLabel]; label != "" {
		if m.revision, err = strconv.ParseInt(label, 10, 64); err != nil {
			return manifest{}, fmt.Errorf("read the manifest: %w", err)
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == nodeagent.GateContainer {
			m.gate = c.Args
		}
	}
	for i := range pod.Spec.Containers {
		for _, arg := range slices.Concat(pod.Spec.Containers[i].Command, pod.Spec.Containers[i].Args) {
			if file, ok := strings.CutPrefix(arg, "--encryption-provider-config="); ok {
				m.config = file
			}
			m.reload = m.reload || arg == "--encryption-provider-config-automatic-reload=true"
		}
		if p := pod.Spec.Containers[i].ReadinessProbe; p != nil && p.HTTPGet != nil {
			u, err := url.Parse(p.HTTPGet.Path)
			if err != nil {
				return manifest{}, fmt.Errorf("read the manifest: %w", err)
			}
			m.exclude = u.Query()["exclude"]
		}
	}
	for _, early := range []bool{false, true} {
		containers := pod.Spec.InitContainers
		if early {
			containers = pod.Spec.Containers
		}
		for i := range containers {
			id, ok := state.ParseID(containers[i].Name)
			if !ok || !strings.HasPrefix(containers[i].Name, sidecar.ContainerPrefix) {
				continue
			}
			p, err := pluginOf(ctx, files, pod, &containers[i], id)
			if err != nil {
				return manifest{}, err
			}
			m.plugins, m.early = append(m.plugins, p), m.early || early
		}
	}
	return m, nil
}

// pluginOf is the plugin that a container runs.
func pluginOf(ctx context.Context, files disk.FS, pod *corev1.Pod, c *corev1.Container, id uint64) (pluginSpec, error) {
	p := pluginSpec{id: id, kms: v1alpha1.KMS{Plugin: v1alpha1.KMSPlugin{Image: c.Image}}}
	for _, e := range c.Env {
		switch e.Name {
		case sidecar.EnvEndpoint:
			p.kms.Identity.Endpoint = e.Value
		case sidecar.EnvKeyPath:
			p.kms.Identity.KeyPath = e.Value
		case sidecar.EnvNamespace:
			p.kms.Identity.Namespace = e.Value
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath == nil || v.Name != sidecar.DataPrefix+fmt.Sprint(id) {
			continue
		}
		p.kms.References.Secret = &v1alpha1.ObjectReference{Name: credentialSecret, Keys: []string{credentialEntry}}
		raw, err := files.ReadFile(ctx, path.Join(v.HostPath.Path, "secrets", credentialSecret, credentialEntry))
		if err != nil {
			return p, fmt.Errorf("read what KMS plugin %d refers to: %w", id, err)
		}
		p.credential = string(raw)
	}
	return p, nil
}

// pass lets the gate of a Pod, if it has one, decide whether the API server may start.
func (n *node) pass(ctx context.Context, env *cluster.Env, m manifest) error {
	if m.gate == nil {
		return nil
	}
	var revision int64
	for _, arg := range m.gate {
		text, isNumber := strings.CutPrefix(arg, nodeagent.GateRevision+"=")
		if file, isFile := strings.CutPrefix(arg, nodeagent.GateRevisionFile+"="); isFile {
			raw, err := env.Disk().ReadFile(ctx, file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("read the number of the revision: %w", err)
			}
			text, isNumber = string(raw), err == nil
		}
		if !isNumber {
			continue
		}
		var err error
		if revision, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("read the number of the revision: %w", err)
		}
	}
	return nodeagent.Gate(ctx, nodeagent.GateConfig{Live: env.Kube, Clock: env.Clock, Revision: revision, Log: n.state.logOf(env)})
}

// runPlugins is the main function of the process that stands for the kubelet's static
// Pods of KMS plugins, each of which runs one plugin.
func (n *node) runPlugins(ctx context.Context, env *cluster.Env) {
	env.OnEnd(func() { n.stopPlugins(func(*plugin) bool { return true }) })
	n.pluginsChanged = env.Clock.NewSignal()
	files, dir := env.Disk(), path.Dir(manifestPath)
	for ctx.Err() == nil {
		again := n.syncPlugins(ctx, files, dir)
		wait, cancel := env.Clock.WithTimeout(ctx, probePeriod)
		var err error
		if again {
			err = n.pluginsChanged.Wait(wait)
		} else {
			err = n.pluginsChanged.Wait(ctx)
		}
		cancel()
		if err == nil {
			_ = env.Clock.Sleep(ctx, n.noticed.Duration(dist(n.state.config.Notice)))
		}
	}
}

// syncPlugins starts the plugins that have a manifest, and ends those that have none or
// another by now. It reports whether one could not be started.
func (n *node) syncPlugins(ctx context.Context, files disk.FS, dir string) (again bool) {
	names, err := files.List(ctx, dir)
	if err != nil {
		return true
	}
	wanted := map[string]bool{}
	for _, name := range names {
		if name == path.Base(manifestPath) || strings.HasPrefix(name, ".") {
			continue
		}
		m, err := readManifest(ctx, files, path.Join(dir, name))
		if err != nil {
			again = true
			continue
		}
		wanted[m.raw] = true
		if slices.ContainsFunc(n.plugins, func(p *plugin) bool { return p.pod == m.raw }) {
			continue
		}
		n.stopPlugins(func(p *plugin) bool { return p.file == name })
		if err := n.startPlugins(name, m); err != nil {
			again = true
			n.state.tell("node", "on %s: %v", n.name, err)
		}
	}
	n.stopPlugins(func(p *plugin) bool { return p.pod != "" && !wanted[p.pod] })
	return again
}
