package client

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Status implements client.Client.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.Client.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return &subresource{client: c, name: name}
}

// subresource is a client of one subresource of all kinds.
type subresource struct {
	client *Client
	name   string
}

const onlyMetadata = "cannot update status using only metadata -- did you mean to patch?"

// request starts a request about the subresource of obj.
func (s *subresource) request(verb apiserver.Verb, obj client.Object, refusal string) (*apiserver.Request, error) {
	k, err := s.client.wholeKind(obj, refusal)
	if err != nil {
		return nil, err
	}
	if err := checkKey(k, obj.GetNamespace(), obj.GetName()); err != nil {
		return nil, err
	}
	req := s.client.request(verb, k, obj.GetNamespace(), obj.GetName())
	req.Subresource = s.name
	return req, nil
}

// Get implements client.SubResourceReader.
func (s *subresource) Get(ctx context.Context, obj, body client.Object, opts ...client.SubResourceGetOption) error {
	req, err := s.request(apiserver.Get, obj, "can not get subresource using only metadata")
	if err != nil {
		return err
	}
	if body.GetName() == "" {
		body.SetName(obj.GetName())
	}
	o := client.SubResourceGetOptions{}
	req.ResourceVersion = o.ApplyOptions(opts).AsGetOptions().ResourceVersion
	resp, err := s.client.call(ctx, req)
	if err != nil {
		return err
	}
	return s.client.into(body, resp.Object, resp.Shared)
}

// Create implements client.SubResourceWriter.
func (s *subresource) Create(ctx context.Context, obj, body client.Object, opts ...client.SubResourceCreateOption) error {
	req, err := s.request(apiserver.Create, obj, onlyMetadata)
	if err != nil {
		return err
	}
	if body.GetName() == "" {
		body.SetName(obj.GetName())
	}
	o := client.SubResourceCreateOptions{}
	raw := o.ApplyOptions(opts).AsCreateOptions()
	req.DryRun, req.FieldManager, req.FieldValidation = raw.DryRun, raw.FieldManager, raw.FieldValidation
	req.Object = body
	return s.client.write(ctx, req, body)
}

// Update implements client.SubResourceWriter.
func (s *subresource) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	req, err := s.request(apiserver.Update, obj, onlyMetadata)
	if err != nil {
		return err
	}
	body := obj
	if len(opts) > 0 {
		o := client.SubResourceUpdateOptions{}
		raw := o.ApplyOptions(opts).AsUpdateOptions()
		req.DryRun, req.FieldManager, req.FieldValidation = raw.DryRun, raw.FieldManager, raw.FieldValidation
		if o.SubResourceBody != nil {
			body = o.SubResourceBody
		}
	}
	if body.GetName() == "" {
		body.SetName(obj.GetName())
	}
	if body.GetNamespace() == "" {
		body.SetNamespace(obj.GetNamespace())
	}
	req.Object = body
	return s.client.write(ctx, req, body)
}

// Patch implements client.SubResourceWriter.
func (s *subresource) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	k, err := s.client.kind(obj)
	if err != nil {
		return err
	}
	o := client.SubResourcePatchOptions{}
	raw := o.ApplyOptions(opts).AsPatchOptions()
	body := obj
	if o.SubResourceBody != nil {
		body = o.SubResourceBody
	}
	req, err := s.client.patch(k, obj, body, patch, raw)
	if err != nil {
		return err
	}
	req.Subresource = s.name
	return s.client.write(ctx, req, body)
}

// Apply implements client.SubResourceWriter.
func (s *subresource) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	o := client.SubResourceApplyOptions{}
	o.ApplyOpts(opts)
	body := config
	if o.SubResourceBody != nil {
		body = o.SubResourceBody
	}
	return s.client.apply(ctx, config, body, s.name, o.AsPatchOptions())
}
