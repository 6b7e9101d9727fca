package fidelity_test

import (
	"context"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// controllerRuntime is the fake client of controller-runtime with all that it
// can do switched on. Objects are unstructured, which its interface allows and
// which expresses the most.
type controllerRuntime struct {
	client client.WithWatch
	scheme *runtime.Scheme
}

func newControllerRuntime(c *conformance.Case) conformance.Target {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(known); err != nil {
			panic(err) // the schemes of Kubernetes do not contradict each other
		}
	}
	builder := fake.NewClientBuilder().WithScheme(known).WithGlobalResourceVersionCounter().WithReturnManagedFields()
	for _, kind := range definedKinds(c) {
		custom := &unstructured.Unstructured{}
		custom.SetGroupVersionKind(kind)
		builder = builder.WithStatusSubresource(custom)
	}
	all := runtime.NewScheme()
	_ = scheme.AddToScheme(all)          // as above
	_ = apiextensionsv1.AddToScheme(all) // as above
	return peerTarget(&controllerRuntime{client: builder.Build(), scheme: known}, all, c)
}

// definedKinds are the custom kinds with a status subresource that the case will
// define; the builder wants to know them at once.
func definedKinds(c *conformance.Case) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for i := range c.Steps {
		body, _ := c.Steps[i].Body.(map[string]any)
		if body["kind"] != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(body, "spec", "group")
		kind, _, _ := unstructured.NestedString(body, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(body, "spec", "versions")
		for _, version := range versions {
			v, _ := version.(map[string]any)
			name, _ := v["name"].(string)
			if subresources, _ := v["subresources"].(map[string]any); subresources["status"] != nil && group != "" {
				kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
			}
		}
	}
	return kinds
}

func (p *controllerRuntime) do(ctx context.Context, call *peerCall) (runtime.Object, error) {
	if call.subresource != "" {
		return p.subresource(ctx, call)
	}
	switch call.verb {
	case "get":
		options := &metav1.GetOptions{}
		if err := call.options(options); err != nil {
			return nil, err
		}
		obj := p.empty(call)
		return obj, p.client.Get(ctx, client.ObjectKeyFromObject(obj), obj, &client.GetOptions{Raw: options})
	case "list":
		options, err := listOptions(call)
		if err != nil {
			return nil, err
		}
		list := p.emptyList(call)
		return list, p.client.List(ctx, list, options)
	case "create":
		options := &metav1.CreateOptions{}
		obj, err := p.given(call, options)
		if err != nil {
			return nil, err
		}
		return obj, p.client.Create(ctx, obj, &client.CreateOptions{
			Raw: options, DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
		})
	case "update":
		options := &metav1.UpdateOptions{}
		obj, err := p.given(call, options)
		if err != nil {
			return nil, err
		}
		return obj, p.client.Update(ctx, obj, updateOptions(options))
	case "patch":
		options, err := patchOptions(call)
		if err != nil {
			return nil, err
		}
		obj := p.empty(call)
		return obj, p.client.Patch(ctx, obj, client.RawPatch(call.patch, call.body), options)
	}
	return nil, p.remove(ctx, call)
}

func (p *controllerRuntime) remove(ctx context.Context, call *peerCall) error {
	options := &metav1.DeleteOptions{}
	selection := &client.ListOptions{}
	if call.verb == "deletecollection" {
		selected, err := listOptions(&peerCall{verb: "list", query: selectors(call), namespace: call.namespace})
		if err != nil {
			return err
		}
		selection = selected
	}
	call.query.Del("labelSelector")
	call.query.Del("fieldSelector")
	if err := call.options(options); err != nil {
		return err
	}
	deletion := client.DeleteOptions{
		Raw: options, GracePeriodSeconds: options.GracePeriodSeconds, Preconditions: options.Preconditions,
		PropagationPolicy: options.PropagationPolicy, DryRun: options.DryRun,
	}
	if call.verb == "delete" {
		return p.client.Delete(ctx, p.empty(call), &deletion)
	}
	return p.client.DeleteAllOf(ctx, p.empty(call), &client.DeleteAllOfOptions{ListOptions: *selection, DeleteOptions: deletion})
}

func selectors(call *peerCall) map[string][]string {
	out := map[string][]string{}
	for _, name := range []string{"labelSelector", "fieldSelector"} {
		if values := call.query[name]; values != nil {
			out[name] = values
		}
	}
	return out
}

func (p *controllerRuntime) subresource(ctx context.Context, call *peerCall) (runtime.Object, error) {
	sub := p.client.SubResource(call.subresource)
	switch {
	case call.subresource == "scale" && call.verb == "get":
		scale := &autoscalingv1.Scale{}
		return scale, sub.Get(ctx, p.typed(call), scale)
	case call.subresource == "scale" && call.verb == "update":
		scale := &autoscalingv1.Scale{}
		if err := p.decode(call, autoscalingv1.SchemeGroupVersion.WithKind("Scale"), scale); err != nil {
			return nil, err
		}
		return scale, sub.Update(ctx, p.typed(call), client.WithSubResourceBody(scale))
	case call.verb == "create":
		return p.createSubresource(ctx, sub, call)
	case call.verb == "update":
		options := &metav1.UpdateOptions{}
		obj, err := p.given(call, options)
		if err != nil {
			return nil, err
		}
		return obj, sub.Update(ctx, obj, &client.SubResourceUpdateOptions{UpdateOptions: *updateOptions(options)})
	case call.verb == "patch":
		options, err := patchOptions(call)
		if err != nil {
			return nil, err
		}
		obj := p.empty(call)
		return obj, sub.Patch(ctx, obj, client.RawPatch(call.patch, call.body), &client.SubResourcePatchOptions{PatchOptions: *options})
	case call.verb == "get" && call.subresource == "status":
		return nil, cannot("get of %s", call.subresource)
	}
	return nil, cannot("%s of %s", call.verb, call.subresource)
}

func (p *controllerRuntime) createSubresource(ctx context.Context, sub client.SubResourceClient, call *peerCall) (runtime.Object, error) {
	kinds := map[string]schema.GroupVersionKind{
		"eviction": {Group: "policy", Version: "v1", Kind: "Eviction"},
		"token":    {Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"},
		"binding":  corev1.SchemeGroupVersion.WithKind("Binding"),
	}
	kind, known := kinds[call.subresource]
	if !known {
		return nil, cannot("create of %s", call.subresource)
	}
	created, err := p.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	body := created.(client.Object)
	if err := p.decode(call, kind, body); err != nil {
		return nil, err
	}
	if err := sub.Create(ctx, p.typed(call), body); err != nil {
		return nil, err
	}
	body.GetObjectKind().SetGroupVersionKind(kind)
	return body, nil
}

func (p *controllerRuntime) watch(ctx context.Context, call *peerCall) (watch.Interface, error) {
	options, err := listOptions(call)
	if err != nil {
		return nil, err
	}
	return p.client.Watch(ctx, p.emptyList(call), options)
}

func (p *controllerRuntime) empty(call *peerCall) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(call.kind)
	obj.SetNamespace(call.namespace)
	obj.SetName(call.name)
	return obj
}

func (p *controllerRuntime) emptyList(call *peerCall) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(call.kind.GroupVersion().WithKind(call.kind.Kind + "List"))
	return list
}

// typed is for subresources, which the fake knows by the Go type.
func (p *controllerRuntime) typed(call *peerCall) client.Object {
	made, err := p.scheme.New(call.kind)
	obj, ok := made.(client.Object)
	if err != nil || !ok {
		return p.empty(call)
	}
	obj.SetNamespace(call.namespace)
	obj.SetName(call.name)
	return obj
}

// given is the object that the call sends, with its options.
func (p *controllerRuntime) given(call *peerCall, options any) (*unstructured.Unstructured, error) {
	if err := call.options(options); err != nil {
		return nil, err
	}
	return call.object(call.kind)
}

func (p *controllerRuntime) decode(call *peerCall, kind schema.GroupVersionKind, into any) error {
	u, err := call.object(kind)
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, into, true); err != nil {
		return cannot("the body: %v", err)
	}
	return nil
}

func listOptions(call *peerCall) (*client.ListOptions, error) {
	raw := &metav1.ListOptions{}
	if err := call.options(raw); err != nil {
		return nil, err
	}
	options := &client.ListOptions{Raw: raw, Namespace: call.namespace, Limit: raw.Limit, Continue: raw.Continue}
	var err error
	if raw.LabelSelector != "" {
		if options.LabelSelector, err = labels.Parse(raw.LabelSelector); err != nil {
			return nil, cannot("a label selector: %v", err)
		}
	}
	if raw.FieldSelector != "" {
		if options.FieldSelector, err = fields.ParseSelector(raw.FieldSelector); err != nil {
			return nil, cannot("a field selector: %v", err)
		}
	}
	return options, nil
}

func updateOptions(options *metav1.UpdateOptions) *client.UpdateOptions {
	return &client.UpdateOptions{
		Raw: options, DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
	}
}

func patchOptions(call *peerCall) (*client.PatchOptions, error) {
	options := &metav1.PatchOptions{}
	if err := call.options(options); err != nil {
		return nil, err
	}
	return &client.PatchOptions{
		Raw: options, DryRun: slices.Clone(options.DryRun), Force: options.Force,
		FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
	}, nil
}
