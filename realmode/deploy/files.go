package deploy

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/encryption/preflightpod"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/leaderelection"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

const header = "# Made by go generate ./realmode/deploy of what the code declares. Do not edit.\n"

// parts are what the account of the controllers runs, each with a role of its own: who
// leaves a part out leaves its file out.
func parts() map[string]controller.Config {
	return map[string]controller.Config{
		"encryption": {Encryption: controller.DefaultEncryption()},
		"gossip":     {Gossip: &controller.Gossip{Namespace: controller.GossipNamespace}},
		"shadows":    {Shadows: true},
	}
}

// Cluster returns the objects of what runs once in a cluster, by the name of their file.
func Cluster() map[string][]client.Object {
	preflight := Account{controller.EncryptionNamespace, preflightpod.Name}
	webhook := controller.Config{Webhook: &controller.Webhook{}}
	election := kube.Grant{Namespace: Controller.Namespace, Rules: leaderelection.Permissions(controller.LeaseName)}
	files := map[string][]client.Object{
		"namespaces.yaml": namespaces(),
		"controller.yaml": slices.Concat(
			workload(Controller, []string{"--encryption", "--gossip-keys", "--cloak-shadows"}, nil),
			Roles(Controller, Controller.Name, []kube.Grant{election}),
		),
		"webhook.yaml": slices.Concat(
			workload(Webhook, []string{"--cloak-webhook"}, withCertificate), Roles(Webhook, Webhook.Name, webhook.Grants()), admission(),
		),
		"preflight.yaml": Roles(preflight, preflight.Name, []kube.Grant{{Namespace: preflight.Namespace, Rules: preflightpod.Permissions()}}),
	}
	for part, cfg := range parts() {
		cfg.Namespace = Controller.Namespace
		grants := slices.DeleteFunc(cfg.Grants(), func(g kube.Grant) bool { return reflect.DeepEqual(g, election) })
		files["roles-"+part+".yaml"] = Roles(Controller, Controller.Name+"-"+part, grants)
	}
	return files
}

// Files returns the content of all files that are made, by their names.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	made := map[string][]client.Object{"node/agents.yaml": Agents()}
	for name, objects := range Cluster() {
		made["cluster/"+name] = objects
	}
	for name, objects := range made {
		text, err := encode(objects)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = text
	}
	definitions, err := fs.Glob(v1alpha1.CRDs, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range definitions {
		text, err := v1alpha1.CRDs.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files["crds/"+path.Base(name)] = text
	}
	return files, nil
}

// encode writes objects as kubectl reads them, without what only a server says.
func encode(objects []client.Object) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(header)
	for i, o := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		form, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, err
		}
		delete(form, "status")
		text, err := yaml.Marshal(form)
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}
