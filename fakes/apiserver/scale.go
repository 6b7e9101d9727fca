package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/patch"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// The scale subresource shows a workload as an autoscaling/v1 Scale with the
// workload's resourceVersion, and writes nothing but the number of replicas.

func (c *call) scaleOf(obj Object) *autoscalingv1.Scale { return scaleOf(c.ep, obj) }

func scaleOf(ep *endpoint, obj Object) *autoscalingv1.Scale {
	s := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
			ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
		},
	}
	s.Spec.Replicas = ep.Scale.Replicas(obj)
	s.Status.Replicas = ep.Scale.Current(obj)
	s.Status.Selector = ep.Scale.Selector(obj)
	return s
}

// checkScale refuses to show a scale where there is none.
func (c *call) checkScale(obj Object) error {
	if c.ep.Scale.Check == nil {
		return nil
	}
	return c.ep.Scale.Check(obj)
}

func (c *call) dispatchScale() (*Response, error) {
	switch c.req.Verb {
	case Get:
		obj, ok, err := c.read()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, c.errNotFound()
		}
		if err := c.checkScale(obj); err != nil {
			return nil, err
		}
		return &Response{Code: http.StatusOK, Object: c.scaleOf(obj)}, nil
	case Update:
		if err := c.checkWriteOptions("UpdateOptions"); err != nil {
			return nil, err
		}
		scale := &autoscalingv1.Scale{}
		if err := c.readInto(scale, scaleKind); err != nil {
			return nil, err
		}
		if err := c.checkNames(scale); err != nil {
			return nil, err
		}
		return c.rescale(func(*autoscalingv1.Scale) (*autoscalingv1.Scale, error) { return scale, nil })
	case Patch:
		if err := c.checkPatch(); err != nil {
			return nil, err
		}
		if c.req.PatchType == types.ApplyYAMLPatchType {
			return c.applyScale()
		}
		return c.rescale(c.patchedScale)
	default:
		if c.ep.Custom {
			return nil, apierrors.NewMethodNotSupported(c.ep.gr, string(c.req.Verb))
		}
		return nil, errMethod()
	}
}

// noReplicas stands for the number of replicas of a custom resource that has none.
const noReplicas = math.MinInt32

// rescale stores the replicas of the Scale that change makes of the present one.
func (c *call) rescale(change func(*autoscalingv1.Scale) (*autoscalingv1.Scale, error)) (*Response, error) {
	for {
		old, ok, err := c.loadToWrite(c.key())
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, c.errNotFound()
		}
		current := c.scaleOf(old)
		if c.ep.Custom && c.checkScale(old) != nil {
			current.Spec.Replicas = noReplicas
		}
		scale, err := change(current)
		if err != nil {
			return nil, err
		}
		if c.req.Verb == Patch {
			if err := c.checkNames(scale); err != nil {
				return nil, err
			}
		}
		if err := c.admitScale(scale, old); err != nil {
			return nil, err
		}
		r, err := c.putScale(scale, old)
		if !errors.Is(err, store.ErrConflict) {
			return r, err
		}
	}
}

// admitScale runs the mutating hooks on a scale that is to be written.
func (c *call) admitScale(scale *autoscalingv1.Scale, old Object) error {
	if scale.Namespace == "" {
		scale.Namespace = c.ns
	}
	return c.admitPart(admission.Update, scale, c.scaleOf(old), scaleKind)
}

// putScale gives old the replicas of scale.
func (c *call) putScale(scale *autoscalingv1.Scale, old Object) (*Response, error) {
	if n := scale.Spec.Replicas; n < 0 && !c.ep.Custom {
		errs := field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), n, "must be greater than or equal to 0")}
		return nil, apierrors.NewInvalid(scaleKind.GroupKind(), c.req.Name, errs)
	}
	switch {
	case scale.UID == "" || scale.UID == old.GetUID():
	case c.ep.Custom: // which takes no notice
	case c.req.Verb == Update:
		return nil, c.errOtherUID(c.key(), scale.UID, old.GetUID())
	default:
		gr := schema.GroupResource{Group: c.ep.gr.Group, Resource: c.ep.gr.Resource + "/scale"}
		return nil, apierrors.NewConflict(gr, c.req.Name, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, old.GetUID()))
	}
	if scale.Spec.Replicas == noReplicas && c.ep.Custom {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", c.ep.Scale.Path.String()))
	}
	obj := old.DeepCopyObject().(Object)
	c.ep.Scale.SetReplicas(obj, scale.Spec.Replicas)
	if scale.ResourceVersion != "" || !c.ep.Custom {
		obj.SetResourceVersion(scale.ResourceVersion)
	}
	c.beginWrite(obj, old)
	r, err := c.commit(&mainTarget, obj, old)
	if err != nil {
		return nil, err
	}
	return &Response{Code: http.StatusOK, Object: c.scaleOf(r.Object)}, nil
}

func (c *call) patchedScale(current *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	current.SetGroupVersionKind(scaleKind)
	scale := &autoscalingv1.Scale{}
	if c.req.PatchType == types.StrategicMergePatchType {
		return scale, c.patchScaleContent(current, scale)
	}
	doc, err := json.Marshal(current)
	if err != nil {
		return nil, err
	}
	apply := patch.Merge
	if c.req.PatchType == types.JSONPatchType {
		apply = patch.JSON
	}
	doc, complaints, err := apply(doc, c.req.Body, c.strict())
	if err != nil {
		return nil, err
	}
	if version, _ := identityOf(doc); version == "" {
		return scale, c.complain(append(complaints, unread(doc)...), string(doc)) // as patchDocument
	}
	unknown, err := kjson.UnmarshalStrict(doc, scale)
	if err != nil {
		return nil, errPatched(string(doc), err.Error())
	}
	if scale.Kind == "" {
		scale.Kind = scaleKind.Kind
	}
	if gvk := scale.GroupVersionKind(); gvk != scaleKind {
		return nil, errPatched(string(doc), c.notThe(gvk, scaleKind))
	}
	return scale, c.complain(append(complaints, unknown...), string(doc))
}

// patchScaleContent applies a strategic merge patch to a scale.
func (c *call) patchScaleContent(current, into *autoscalingv1.Scale) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(current)
	if err != nil {
		return err
	}
	out, sent, complaints, err := patch.Strategic(content, c.req.Body, into, c.strict())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%+v", sent)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(out, into, c.strict()); err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return errPatched(text, err.Error())
		}
		complaints = append(complaints, strict.Errors()...)
	}
	return c.complain(complaints, text)
}
