package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	optionsvalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

func (c *call) delete() (*Response, error) {
	opts, err := c.deleteOptions()
	if err != nil {
		return nil, err
	}
	if ignore := opts.IgnoreStoreReadErrorWithClusterBreakingPotential; ignore != nil && *ignore {
		return c.eraseUnread()
	}
	obj, gone, err := c.remove(c.key(), opts)
	if err != nil {
		return nil, err
	}
	code := http.StatusOK
	if !gone && opts.OrphanDependents != nil && !*opts.OrphanDependents { //nolint:staticcheck // old clients send it
		code = http.StatusAccepted
	}
	if !gone || c.ep.Delete.ReturnsObject {
		return c.answer(code, obj, c.own.mark), nil
	}
	return &Response{Code: code, Status: &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: obj.GetName(), Group: c.ep.gr.Group, Kind: c.ep.gr.Resource, UID: obj.GetUID()},
	}}, nil
}

// deleteOptions returns the options of a delete, the caller's own.
func (c *call) deleteOptions() (*metav1.DeleteOptions, error) {
	opts := &metav1.DeleteOptions{}
	switch {
	case c.req.DeleteOptions != nil:
		opts = c.req.DeleteOptions.DeepCopy()
	case len(bytes.TrimSpace(c.req.Body)) > 0:
		if err := c.readDeleteOptions(opts); err != nil {
			return nil, err
		}
	}
	if len(opts.DryRun) == 0 {
		opts.DryRun = c.req.DryRun
	}
	if errs := optionsvalidation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return nil, errOptions("DeleteOptions", errs)
	}
	c.dryRun = len(opts.DryRun) > 0
	//nolint:staticcheck // old clients send OrphanDependents
	if c.ep.Delete.Orphan && opts.PropagationPolicy == nil && opts.OrphanDependents == nil && c.ep.Plural == "jobs" {
		c.warn(registry.OrphanWarning)
	}
	return opts, nil
}

func (c *call) readDeleteOptions(opts *metav1.DeleteOptions) error {
	data := c.req.Body
	gvk, err := jsonserializer.DefaultMetaFactory.Interpret(data)
	if err == nil && gvk.Kind != "" && gvk.Kind != "DeleteOptions" {
		err = fmt.Errorf("no kind %q is registered for version %q in scheme %q", gvk.Kind, gvk.GroupVersion(), realScheme)
	}
	if err == nil {
		err = json.Unmarshal(data, opts)
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// remove deletes the object at key, or marks it if something holds it. It returns
// the last state and whether it is gone.
func (c *call) remove(key store.Key, opts *metav1.DeleteOptions) (Object, bool, error) {
	for {
		old, ok, err := c.load(key)
		if err != nil {
			return nil, false, err
		}
		c.own.mark = apply.Carry(c.own.mark, old)
		if !ok {
			return nil, false, apierrors.NewNotFound(c.ep.gr, key.Name)
		}
		obj, gone, err := c.removeThis(key, old, opts)
		if !errors.Is(err, store.ErrConflict) {
			return obj, gone, err
		}
	}
}

func (c *call) removeThis(key store.Key, old Object, opts *metav1.DeleteOptions) (Object, bool, error) {
	if c.ep.gr == namespaceResource.GroupResource() {
		done, obj, err := c.terminateNamespace(key, old, opts)
		if done || err != nil {
			return obj, false, err
		}
	}
	if c.ep.gr == definitionResource.GroupResource() && old.GetDeletionTimestamp() == nil {
		obj, err := c.terminateDefinition(key, old, opts)
		return obj, false, err
	}
	if err := c.checkPreconditions(old, opts); err != nil {
		return nil, false, err
	}
	if err := c.admitDelete(old); err != nil {
		return nil, false, err
	}
	obj := shape.ShallowCopy(old).(Object)
	graceful, pending := c.beginGrace(obj, opts)
	if pending {
		return old, false, nil
	}
	c.setPropagation(obj, opts)
	held := len(obj.GetFinalizers()) > 0
	switch {
	case graceful:
		// The pod is told how long it has, even if that is no time at all.
		held = held || *obj.GetDeletionGracePeriodSeconds() > 0
	case held:
		c.markDeleting(obj)
	case c.dryRun && len(old.GetFinalizers()) > 0:
		// A real server means to show what the write would have left that took the
		// last finalizer away, and that has left nothing.
		return newObject(c.ep.Entry), false, nil
	default:
		return c.erase(key, old)
	}
	if !c.ep.Equal(obj, old) && !c.dryRun {
		var err error
		if obj, err = c.put(key, obj, old, c.own.mark); err != nil {
			return nil, false, c.storageError(err)
		}
		old = obj
	}
	if held || c.dryRun {
		return obj, !held, nil
	}
	return c.erase(key, old)
}

// erase takes the object out of the store.
func (c *call) erase(key store.Key, old Object) (Object, bool, error) {
	if c.dryRun {
		return old, true, nil
	}
	last, err := c.drop(key, old)
	if err != nil {
		return nil, false, c.storageError(err)
	}
	return last, true, nil
}

func (c *call) checkPreconditions(old Object, opts *metav1.DeleteOptions) error {
	p := opts.Preconditions
	if p == nil {
		return nil
	}
	gr := c.ep.gr
	gr.Resource = c.ep.GroupVersionKind.Kind // what a real server says
	if p.UID != nil && *p.UID != old.GetUID() {
		return apierrors.NewConflict(gr, old.GetName(), fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, old.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion() {
		return apierrors.NewConflict(gr, old.GetName(), fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, old.GetResourceVersion()))
	}
	return nil
}

// beginGrace starts or shortens a graceful deletion. Pending says that one is
// under way that this request does not change.
func (c *call) beginGrace(obj Object, opts *metav1.DeleteOptions) (graceful, pending bool) {
	asked := opts.GracePeriodSeconds
	if asked != nil && *asked < 0 {
		one := int64(1)
		asked = &one
	}
	if c.ep.Delete.Grace == nil {
		return false, false
	}
	now := c.now()
	if at := obj.GetDeletionTimestamp(); at != nil {
		left := obj.GetDeletionGracePeriodSeconds()
		if left == nil || *left == 0 {
			return false, false
		}
		if asked == nil || *asked >= *left {
			return false, true
		}
		period := *asked
		earlier := metav1.NewTime(at.Add(seconds(period - *left)))
		if earlier.Before(&now) {
			earlier = now
			if period != 0 {
				period = 1
			}
		}
		obj.SetDeletionTimestamp(&earlier)
		obj.SetDeletionGracePeriodSeconds(&period)
		return true, false
	}
	period := c.ep.Delete.Grace(obj, asked)
	at := metav1.NewTime(now.Add(seconds(period)))
	obj.SetDeletionTimestamp(&at)
	obj.SetDeletionGracePeriodSeconds(&period)
	grow(obj)
	return true, false
}

// grow makes a new generation, if the kind has any.
func grow(obj Object) {
	if g := obj.GetGeneration(); g > 0 {
		obj.SetGeneration(g + 1)
	}
}

// markDeleting marks an object that finalizers hold.
func (c *call) markDeleting(obj Object) {
	now, none := c.now(), int64(0)
	if at := obj.GetDeletionTimestamp(); at == nil {
		grow(obj)
		obj.SetDeletionTimestamp(&now)
	} else if at.After(now.Time) {
		obj.SetDeletionTimestamp(&now)
	}
	obj.SetDeletionGracePeriodSeconds(&none)
}

// setPropagation gives obj the finalizer of its propagation policy.
func (c *call) setPropagation(obj Object, opts *metav1.DeleteOptions) {
	if c.ep.Delete.NoGC {
		return
	}
	want := c.propagation(obj, opts)
	var kept []string
	found := false
	for _, f := range obj.GetFinalizers() {
		switch {
		case f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents:
			kept = append(kept, f)
		case f == want:
			found = true
		}
	}
	if found && len(kept)+1 == len(obj.GetFinalizers()) || want == "" && len(kept) == len(obj.GetFinalizers()) {
		return // as it is
	}
	if want != "" {
		kept = append(kept, want)
	}
	obj.SetFinalizers(kept)
}

// propagation returns the finalizer that the deletion needs, or "". What the
// request says comes first, then a finalizer that is there, then the kind.
func (c *call) propagation(obj Object, opts *metav1.DeleteOptions) string {
	if orphan := opts.OrphanDependents; orphan != nil { //nolint:staticcheck // old clients send it
		if *orphan {
			return metav1.FinalizerOrphanDependents
		}
		return ""
	}
	if p := opts.PropagationPolicy; p != nil {
		switch *p {
		case metav1.DeletePropagationOrphan:
			return metav1.FinalizerOrphanDependents
		case metav1.DeletePropagationForeground:
			return metav1.FinalizerDeleteDependents
		default:
			return ""
		}
	}
	for _, f := range obj.GetFinalizers() {
		if f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents {
			return f
		}
	}
	if c.ep.Delete.Orphan {
		return metav1.FinalizerOrphanDependents
	}
	return ""
}

func (c *call) deleteCollection() (*Response, error) {
	if c.ep.NoCollection {
		return nil, errMethod()
	}
	sel, err := c.selectObjects()
	if err != nil {
		return nil, err
	}
	opts, err := c.deleteOptions()
	if err != nil {
		return nil, err
	}
	result, err := c.find(sel)
	if err != nil {
		return nil, err
	}
	for _, obj := range result.Objects {
		key := store.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
		if _, _, err := c.remove(key, opts); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	r := c.page(&result, sel)
	return r, c.handOver(r, result.Marks)
}
