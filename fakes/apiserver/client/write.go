package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
)

// GiveAway is an option of Create and Update by which the caller parts with the
// object: the server stores that very object, nothing is copied in either
// direction, and the object does not show the result. The caller must not touch
// it again, whether the call succeeds or not.
const GiveAway = giveAway(true)

type giveAway bool

// ApplyToCreate implements client.CreateOption.
func (giveAway) ApplyToCreate(*client.CreateOptions) {}

// ApplyToUpdate implements client.UpdateOption.
func (giveAway) ApplyToUpdate(*client.UpdateOptions) {}

// Create implements client.Client.
func (c *Client) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	k, err := c.wholeKind(obj, "cannot create using only metadata")
	if err != nil {
		return err
	}
	if k.Namespaced && obj.GetNamespace() == "" {
		return errors.New("an empty namespace may not be set during creation")
	}
	req := c.request(apiserver.Create, k, obj.GetNamespace(), "")
	req.Object = obj
	if len(opts) > 0 {
		o := client.CreateOptions{}
		raw := o.ApplyOptions(opts).AsCreateOptions()
		req.DryRun, req.FieldManager, req.FieldValidation = raw.DryRun, raw.FieldManager, raw.FieldValidation
		req.Owned = given(opts)
	}
	return c.write(ctx, req, obj)
}

// Update implements client.Client.
func (c *Client) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	k, err := c.wholeKind(obj, "cannot update using only metadata -- did you mean to patch?")
	if err != nil {
		return err
	}
	if err := checkKey(k, obj.GetNamespace(), obj.GetName()); err != nil {
		return err
	}
	req := c.request(apiserver.Update, k, obj.GetNamespace(), obj.GetName())
	req.Object = obj
	if req.Owned = given(opts); len(opts) > 1 || len(opts) == 1 && !req.Owned {
		o := client.UpdateOptions{}
		raw := o.ApplyOptions(opts).AsUpdateOptions()
		req.DryRun, req.FieldManager, req.FieldValidation = raw.DryRun, raw.FieldManager, raw.FieldValidation
	}
	return c.write(ctx, req, obj)
}

// given looks for GiveAway among options of any kind.
func given[Option any](opts []Option) bool {
	for _, opt := range opts {
		if given, ok := any(opt).(giveAway); ok && bool(given) {
			return true
		}
	}
	return false
}

// Patch implements client.Client.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	k, err := c.kind(obj)
	if err != nil {
		return err
	}
	o := client.PatchOptions{}
	raw := o.ApplyOptions(opts).AsPatchOptions()
	req, err := c.patch(k, obj, obj, patch, raw)
	if err != nil {
		return err
	}
	return c.write(ctx, req, obj)
}

// patch is the request of a patch of obj that is made from body.
func (c *Client) patch(k *apiserver.Resource, obj, body client.Object, patch client.Patch, raw *metav1.PatchOptions) (*apiserver.Request, error) {
	if err := checkKey(k, obj.GetNamespace(), obj.GetName()); err != nil {
		return nil, err
	}
	data, err := patch.Data(body)
	if err != nil {
		return nil, err
	}
	req := c.request(apiserver.Patch, k, obj.GetNamespace(), obj.GetName())
	req.PatchType, req.Body = patch.Type(), data
	setPatchOptions(req, raw)
	return req, nil
}

func setPatchOptions(req *apiserver.Request, raw *metav1.PatchOptions) {
	req.DryRun, req.FieldManager, req.FieldValidation = raw.DryRun, raw.FieldManager, raw.FieldValidation
	req.Force = raw.Force
}

// write makes the request of a write and puts its answer into obj.
func (c *Client) write(ctx context.Context, req *apiserver.Request, obj client.Object) error {
	givenAway := req.Owned
	resp, err := c.call(ctx, req)
	if err != nil || resp.Object == nil || givenAway {
		return err
	}
	defer keepKind(obj, obj.GetObjectKind().GroupVersionKind())
	if !resp.Shared || reflect.TypeOf(obj) != reflect.TypeOf(resp.Object) {
		return c.into(obj, resp.Object, resp.Shared)
	}
	// Most of the answer is what was sent: only the rest is copied.
	shape.Of(obj, shape.Protobuf).Assign(obj, resp.Object)
	return nil
}

// Delete implements client.Client.
func (c *Client) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	k, err := c.kind(obj)
	if err != nil {
		return err
	}
	if err := checkKey(k, obj.GetNamespace(), obj.GetName()); err != nil {
		return err
	}
	req := c.request(apiserver.Delete, k, obj.GetNamespace(), obj.GetName())
	if len(opts) > 0 {
		o := client.DeleteOptions{}
		req.DeleteOptions = o.ApplyOptions(opts).AsDeleteOptions()
	}
	_, err = c.call(ctx, req)
	return err
}

// DeleteAllOf implements client.Client.
func (c *Client) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	k, err := c.kind(obj)
	if err != nil {
		return err
	}
	o := client.DeleteAllOfOptions{}
	o.ApplyOptions(opts)
	req := c.request(apiserver.DeleteCollection, k, o.Namespace, "")
	setListOptions(req, &o.ListOptions)
	req.DeleteOptions = o.AsDeleteOptions()
	_, err = c.call(ctx, req)
	return err
}

// Apply implements client.Client.
func (c *Client) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	o := client.ApplyOptions{}
	o.ApplyOptions(opts)
	return c.apply(ctx, config, config, "", o.AsPatchOptions())
}

// apply sends body as an apply patch of the object that target names, and
// writes the answer into body.
func (c *Client) apply(ctx context.Context, target, body runtime.ApplyConfiguration, subresource string, raw *metav1.PatchOptions) error {
	data, err := json.Marshal(target)
	if err != nil {
		return fmt.Errorf("encode apply configuration %T: %w", target, err)
	}
	kind, key, err := addressee(target, data)
	if err != nil {
		return err
	}
	k, err := c.served(kind)
	if err != nil {
		return err
	}
	if err := checkKey(k, key.Namespace, key.Name); err != nil {
		return err
	}
	req := c.request(apiserver.Patch, k, key.Namespace, key.Name)
	req.Subresource, req.PatchType, req.Body = subresource, types.ApplyPatchType, data
	if body != target {
		if req.Body, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode apply configuration %T: %w", body, err)
		}
	}
	setPatchOptions(req, raw)
	resp, err := c.call(ctx, req)
	if err != nil || resp.Object == nil {
		return err
	}
	if kind := resp.Object.GetObjectKind(); kind.GroupVersionKind().Empty() { // a Go type, whose answer may be wanted without one
		var sent metav1.TypeMeta
		if err := json.Unmarshal(req.Body, &sent); err != nil {
			return fmt.Errorf("read apply configuration %T: %w", body, err)
		}
		kind.SetGroupVersionKind(sent.GroupVersionKind())
	}
	from, _ := resp.Object.(*unstructured.Unstructured)
	if into, ok := body.(runtime.Unstructured); ok && from != nil {
		into.SetUnstructuredContent(runtime.DeepCopyJSON(from.Object))
		return nil
	}
	answer, err := json.Marshal(resp.Object)
	if err != nil {
		return fmt.Errorf("encode %s %q: %w", k.Kind, key.Name, err)
	}
	return json.Unmarshal(answer, body)
}

// addressee is the kind and name of what an apply configuration, whose JSON is data, is
// for.
func addressee(config runtime.ApplyConfiguration, data []byte) (schema.GroupVersionKind, client.ObjectKey, error) {
	if obj, ok := config.(client.Object); ok {
		return obj.GetObjectKind().GroupVersionKind(), client.ObjectKeyFromObject(obj), nil
	}
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        client.ObjectKey
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return schema.GroupVersionKind{}, client.ObjectKey{}, fmt.Errorf("read apply configuration %T: %w", config, err)
	}
	return schema.FromAPIVersionAndKind(head.APIVersion, head.Kind), head.Metadata, nil
}

// wholeKind is kind, for calls that need more than metadata; refusal is the
// error of one that has no more.
func (c *Client) wholeKind(obj client.Object, refusal string) (*apiserver.Resource, error) {
	if _, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return nil, errors.New(refusal)
	}
	return c.kind(obj)
}

// checkKey refuses what a real client cannot make a path of.
func checkKey(k *apiserver.Resource, namespace, name string) error {
	if name == "" {
		return errors.New("resource name may not be empty")
	}
	if k.Namespaced && namespace == "" {
		return errors.New("an empty namespace may not be set when a resource name is provided")
	}
	return nil
}
