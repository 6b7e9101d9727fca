package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/leaderelection"
	realencryption "github.com/seedbed-sim/seedbed/realmode/encryption"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// Grants are the rules that the account of a process needs, as the code declares them.
// Those of one part are together; of the parts that are off there are none.
func (c *Config) Grants() []kube.Grant {
	var all []kube.Grant
	leads := false
	if e := c.Encryption; e != nil {
		leads = true
		all = append(all, e.grants()...)
	}
	if g := c.Gossip; g != nil {
		leads = true
		all = append(all, g.grants()...)
	}
	if c.Shadows {
		leads = true
		all = append(all, kube.Grant{Rules: cloak.ShadowPermissions()}, kube.Grant{Rules: kube.EventPermissions()})
	}
	if c.Webhook != nil {
		all = append(all, kube.Grant{Rules: cloak.WebhookPermissions()})
	}
	if leads {
		all = append(all, kube.Grant{Namespace: c.Namespace, Rules: leaderelection.Permissions(LeaseName)})
	}
	return all
}

func (e *Encryption) grants() []kube.Grant {
	p := encryption.PermissionsFor(e.Resources)
	return []kube.Grant{
		{Rules: p.Cluster},
		{Namespace: e.Namespace, Rules: p.Keys},
		{Namespace: e.References, Rules: p.References},
		{Namespace: e.ServersNamespace, Rules: p.Servers},
		{Namespace: realencryption.ServiceNamespace, Rules: realencryption.ScrapePermissions()},
		// Events about an object without a namespace, as the policy is, are there.
		{Namespace: corev1.NamespaceDefault, Rules: kube.EventPermissions()},
	}
}

func (g *Gossip) grants() []kube.Grant {
	var all []kube.Grant
	for _, p := range []gossipkeys.Permissions{gossipkeys.ProvisionerPermissions(g.options()...), gossipkeys.RotatorPermissions(g.options()...)} {
		all = append(all, kube.Grant{Namespace: g.Namespace, Rules: p.Namespaced})
		if len(p.Cluster) > 0 {
			all = append(all, kube.Grant{Rules: p.Cluster})
		}
	}
	return all
}

func (g *Gossip) options() []gossipkeys.Option {
	return []gossipkeys.Option{gossipkeys.WithSecret(g.Secret, "")}
}

// Secrets are what a policy names if it names nothing.
func Secrets() []schema.GroupResource { return []schema.GroupResource{{Resource: "secrets"}} }
