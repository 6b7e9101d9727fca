package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/seedbed-sim/seedbed/core/encryption/migration"
)

// Reach asks the API server for its version: an error says that it cannot be reached.
func (c *Cluster) Reach(ctx context.Context) error {
	api, err := unversioned(rest.CopyConfig(c.cfg), c.http)
	if err != nil {
		return err
	}
	if err := api.Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return fmt.Errorf("reach the API server %s: %w", c.cfg.Host, err)
	}
	return nil
}

// CheckDefinitions returns an error that names the first kind that the cluster does not
// serve, and what to install.
func (c *Cluster) CheckDefinitions(objects ...client.Object) error {
	for _, o := range objects {
		gvk, err := apiutil.GVKForObject(o, scheme)
		if err != nil {
			return fmt.Errorf("find the kind of %T: %w", o, err)
		}
		_, err = c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		case meta.IsNoMatchError(err):
			return fmt.Errorf("the cluster has no kind %s of %s: install its CustomResourceDefinition with kubectl apply -k realmode/deploy/crds", gvk.Kind, gvk.GroupVersion())
		case err != nil:
			return fmt.Errorf("ask whether the cluster has the kind %s: %w", gvk.Kind, err)
		}
	}
	return nil
}

// Kinds returns what knows the kinds of resources, as the server prefers them.
func (c *Cluster) Kinds() migration.Kinds { return kinds{c.mapper} }

type kinds struct{ mapper meta.RESTMapper }

// PreferredKind implements migration.Kinds.
func (k kinds) PreferredKind(_ context.Context, gr schema.GroupResource) (schema.GroupVersionKind, error) {
	return k.mapper.KindFor(gr.WithVersion(""))
}
