package unmodified

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// An informer keeps its objects in a map, and tells who begins to listen to it of what it
// has in the order of the map. A controller of controller-runtime begins to listen when
// the informer has listed, which it finds out by looking every 100 ms. So first lists are
// answered as if there were nothing yet, and everything that is there comes as an event,
// one after the other, when whoever waits for the list listens.

// listened is how long that takes at most, with room to spare.
const listened = 250 * time.Millisecond

// errNoWatchList is what a server says that does not know lists as watches, so that
// informers list.
var errNoWatchList error = apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", field.ErrorList{
	field.Forbidden(field.NewPath("sendInitialEvents"), "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"),
})

// firstList empties the answer to the first list of an informer, which is satisfied with
// any revision. It remembers where the informer will begin to watch.
func (i *incarnation) firstList(req *apiserver.Request, resp *apiserver.Response, err error) (*apiserver.Response, error) {
	if i.runner.program.RealLists || err != nil || req.Verb != apiserver.List || req.ResourceVersion != "0" {
		return resp, err
	}
	i.listed[listKey(req, resp.List.ResourceVersion)] = len(resp.Items)
	empty := *resp
	empty.Items = nil
	return &empty, nil
}

// afterFirstList makes the watch that follows a first list wait, and begin with what is
// there if the list had anything. It returns an error if ctx ends before.
func (i *incarnation) afterFirstList(ctx context.Context, req *apiserver.Request) error {
	key := listKey(req, req.ResourceVersion)
	left, first := i.listed[key]
	if !first {
		return nil
	}
	delete(i.listed, key)
	if left > 0 {
		req.SendInitialEvents, req.ResourceVersionMatch = ptr.To(true), metav1.ResourceVersionMatchNotOlderThan
	}
	return i.clock.Sleep(ctx, listened)
}

// listKey names what is listed and watched from a revision on.
func listKey(req *apiserver.Request, revision string) string {
	return fmt.Sprint(req.Resource, " ", req.Namespace, " ", selector(req.Labels, req.LabelSelector), " ", selector(req.Fields, req.FieldSelector), " ", revision)
}

func selector[S interface {
	comparable
	fmt.Stringer
}](parsed S, text string) string {
	var none S
	if parsed != none {
		return parsed.String()
	}
	return text
}
