package apiserver

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Namespaces are deleted in two phases. A delete makes them Terminating; somebody
// else empties them and takes the finalizer kubernetes out of spec.finalizers by
// the subresource finalize; that removes them.

func finalized(obj Object) bool { return len(obj.(*corev1.Namespace).Spec.Finalizers) == 0 }

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// terminateNamespace does the first phase. It is done if the namespace stays.
func (c *call) terminateNamespace(key store.Key, old Object, opts *metav1.DeleteOptions) (done bool, obj Object, err error) {
	ns := old.(*corev1.Namespace)
	if p := opts.Preconditions; p != nil {
		mismatch := func(what, wanted, found string) error {
			return apierrors.NewConflict(c.ep.gr, key.Name, fmt.Errorf("Precondition failed: %s in precondition: %v, %s in object meta: %v", what, wanted, what, found))
		}
		if p.UID != nil && *p.UID != ns.UID {
			return true, nil, mismatch("UID", string(*p.UID), string(ns.UID))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != ns.ResourceVersion {
			return true, nil, mismatch("ResourceVersion", *p.ResourceVersion, ns.ResourceVersion)
		}
	}
	if ns.DeletionTimestamp != nil {
		return !finalized(ns), old, nil
	}
	if err := c.admitDelete(old); err != nil {
		return true, nil, err
	}
	next := shape.ShallowCopy(ns).(*corev1.Namespace)
	now := c.now()
	next.DeletionTimestamp = &now
	next.Status.Phase = corev1.NamespaceTerminating
	c.setPropagation(next, opts)
	if c.dryRun {
		return true, next, nil
	}
	if err := c.rewrite(c.ep, key, next, old); err != nil {
		return true, nil, c.storageError(err)
	}
	return true, next, nil
}

// finalizeTarget is the subresource finalize, which alone may change
// spec.finalizers.
var finalizeTarget = target{
	prepare: func(c *call, obj, old Object) (Object, bool) {
		obj.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
		return obj, c.ep.SameContent(obj, old)
	},
	validate: func(*call, Object, Object, bool) field.ErrorList { return nil },
}

func (c *call) finalize() (*Response, error) {
	if c.req.Verb != Update {
		return nil, errMethod()
	}
	r, err := c.update(&finalizeTarget)
	if r != nil {
		r.Code = http.StatusOK
	}
	return r, err
}
