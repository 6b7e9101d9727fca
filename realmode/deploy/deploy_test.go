package deploy_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/realmode/deploy"
)

func files(t *testing.T) map[string][]byte {
	t.Helper()
	made, err := deploy.Files()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestUpToDate: what is in the folder is what the code declares, and nothing else is there
// but what somebody wrote.
func TestUpToDate(t *testing.T) {
	made := files(t)
	for _, name := range slices.Sorted(maps.Keys(made)) {
		there, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(there, made[name]) {
			t.Errorf("%s is out of date, error %v: go generate ./realmode/deploy", name, err)
		}
	}
	for _, dir := range []string{"cluster", "crds", "node"} {
		var want struct{ Resources []string }
		text, err := os.ReadFile(path.Join(dir, "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		there, err := fs.Glob(os.DirFS(dir), "*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		there = slices.DeleteFunc(there, func(name string) bool { return name == "kustomization.yaml" })
		slices.Sort(want.Resources)
		if d := cmp.Diff(there, want.Resources); d != "" {
			t.Errorf("files of %s that kustomization.yaml names (-there +named):\n%s", dir, d)
		}
	}
}

// TestServersTakeThem: an API server takes all objects.
func TestServersTakeThem(t *testing.T) {
	c := client.New(apiserver.New(apiserver.Options{RBAC: true, DefaultRoles: true}), clientscheme.Scheme)
	all := deploy.Cluster()
	all["agents.yaml"] = deploy.Agents()
	for _, name := range append([]string{"namespaces.yaml"}, slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(n string) bool { return n == "namespaces.yaml" })...) {
		for _, o := range all[name] {
			if err := c.Create(t.Context(), o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestWhoMayWhat asks RBAC, as a server evaluates it, about requests that tell the accounts
// apart.
func TestWhoMayWhat(t *testing.T) {
	server := apiserver.New(apiserver.Options{RBAC: true, DefaultRoles: true})
	c := client.New(server, clientscheme.Scheme)
	for _, o := range deploy.Cluster()["namespaces.yaml"] {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for name, objects := range deploy.Cluster() {
		for _, o := range objects {
			if o.GetObjectKind().GroupVersionKind().Group != rbacv1.GroupName {
				continue
			}
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	const controllers, webhook, preflight = "seedbed-system:seedbed-controller", "seedbed-system:seedbed-webhook", "seedbed-encryption:kms-preflight"
	for _, q := range []struct {
		who, verb, resource, namespace, name string
		may                                  bool
	}{
		{controllers, "update", "secrets", "app", "db", true},
		{controllers, "create", "secrets", "kube-system", "", true},
		{controllers, "delete", "pods", "app", "web", false},
		{controllers, "delete", "pods", "seedbed-encryption", "kms-preflight", true},
		{controllers, "get", "configmaps", "app", "c", false},
		{controllers, "patch", "nodes", "", "n", false},
		{controllers, "update", "leases.coordination.k8s.io", "seedbed-system", "seedbed-controller", true},
		{controllers, "update", "leases.coordination.k8s.io", "seedbed-system", "another", false},
		{controllers, "update", "leases.coordination.k8s.io", "kube-system", "kube-scheduler", false},
		{controllers, "update", "encryptionpolicies.encryption.seedbed.dev", "", "cluster", false},
		{controllers, "patch", "encryptionpolicies.encryption.seedbed.dev/status", "", "cluster", true},
		{controllers, "create", "clusterrolebindings.rbac.authorization.k8s.io", "", "", false},
		{controllers, "impersonate", "users", "", "admin", false},
		{webhook, "get", "secrets", "app", "db", true},
		{webhook, "list", "secrets", "app", "", false},
		{webhook, "update", "secrets", "app", "db", false},
		{webhook, "create", "leases.coordination.k8s.io", "seedbed-system", "", false},
		{preflight, "patch", "pods/status", "seedbed-encryption", "kms-preflight", true},
		{preflight, "patch", "pods/status", "seedbed-encryption", "another", false},
		{preflight, "get", "secrets", "seedbed-encryption", "encryption-config-1", false},
	} {
		resource, subresource, _ := strings.Cut(q.resource, "/")
		resource, group, _ := strings.Cut(resource, ".")
		namespace, _, _ := strings.Cut(q.who, ":")
		may, _ := server.Store().Authorizer().Authorize(&authz.Attributes{
			User: &authz.User{Name: "system:serviceaccount:" + q.who, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}},
			Verb: q.verb, Group: group, Resource: resource, Subresource: subresource, Namespace: q.namespace, Name: q.name,
		})
		if may != q.may {
			t.Errorf("%s may %s %s %s/%s: %t, want %t", q.who, q.verb, q.resource, q.namespace, q.name, may, q.may)
		}
	}
}
