package unmodified

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// An informer keeps its objects in a map, and tells who begins to listen to it of what it
// has in the order of the map. A controller of controller-runtime begins to listen when
// the informer has listed. So first lists are answered as if there were nothing yet, and
// everything that is there comes as an event, one after the other.

// errNoWatchList is what a server says that does not know lists as watches, so that
// informers list.
var errNoWatchList error = apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", field.ErrorList{
	field.Forbidden(field.NewPath("sendInitialEvents"), "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"),
})

// firstList empties the answer to the first list of an informer, which is satisfied with
// any revision. It remembers where the informer will begin to watch.
func (i *incarnation) firstList(req *apiserver.Request, resp *apiserver.Response, err error) (*apiserver.Response, error) {
	if i.runner.program.RealLists || err != nil || req.Verb != apiserver.List || req.ResourceVersion != "0" || len(resp.Items) == 0 {
		return resp, err
	}
	empty := *resp
	empty.Items = nil
	i.emptied[listKey(req, empty.List.ResourceVersion)] = true
	return &empty, nil
}

// afterFirstList makes the watch that follows an emptied list begin with what is there.
func (i *incarnation) afterFirstList(req *apiserver.Request) {
	key := listKey(req, req.ResourceVersion)
	if !i.emptied[key] {
		return
	}
	delete(i.emptied, key)
	req.SendInitialEvents, req.ResourceVersionMatch = ptr.To(true), metav1.ResourceVersionMatchNotOlderThan
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
