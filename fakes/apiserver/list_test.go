package apiserver_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func page(limit int64, token string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.Limit, r.Continue = limit, token }
}

func TestRule10ListsAreInOrderOfKeys(t *testing.T) {
	a := newAPI(t)
	equal(t, "none", len(a.list(configMaps).Items), 0)
	for _, n := range []string{"b", "a2", "a10", "a-z", "a.z"} {
		a.create(configMaps, configMap(n))
	}
	a.create(configMaps, configMap("a"), in("kube-system"))
	equal(t, "one namespace", names(a.list(configMaps)), "a-z a.z a10 a2 b")
	equal(t, "all", names(a.list(configMaps, in(""))), "a-z a.z a10 a2 b a")
	equal(t, "a missing namespace", names(a.list(configMaps, in("nowhere"))), "")
}

func TestRule10PagesShowOneState(t *testing.T) {
	a := newAPI(t)
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		a.create(configMaps, configMap(n))
	}
	first := a.list(configMaps, page(2, ""))
	equal(t, "first", names(first), "a b")
	equal(t, "remaining", *first.List.RemainingItemCount, 3)
	a.create(configMaps, configMap("bb"))
	a.delete(configMaps, "d")
	second := a.list(configMaps, page(2, first.List.Continue))
	equal(t, "second", names(second)+"@"+second.List.ResourceVersion, "c d@"+first.List.ResourceVersion)
	third := a.list(configMaps, page(2, second.List.Continue))
	equal(t, "third", names(third)+third.List.Continue, "e")
	equal(t, "selectors hide the count", a.list(configMaps, page(2, ""), labelled("!none")).List.RemainingItemCount, nil)
	equal(t, "version 0 ignores the limit", names(a.list(configMaps, page(2, ""), version("0"))), "a b bb c e")
}

func TestRule10AnExpiredPageGoesOnInconsistently(t *testing.T) {
	a := newAPI(t)
	for _, n := range []string{"a", "b", "c"} {
		a.create(configMaps, configMap(n))
	}
	first := a.list(configMaps, page(1, ""))
	a.delete(configMaps, "b")
	a.Store().Compact(0)
	_, err := a.Do(a.request(apiserver.List, configMaps, "", page(1, first.List.Continue)))
	s := a.status(err, 410, "Expired", "The provided continue parameter is too old to display a consistent list result. "+
		"You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "+
		"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
	equal(t, "the rest", names(a.list(configMaps, page(1, s.ListMeta.Continue))), "c")
	a.refused(a.request(apiserver.List, configMaps, "", page(1, "garbage")), 400, "BadRequest",
		`invalid continue token: continue key is not valid: invalid character '\u0081' looking for beginning of value`)
	a.refused(a.request(apiserver.List, configMaps, "", page(1, first.List.Continue), version("5")), 400, "BadRequest",
		"specifying resource version is not allowed when using continue")
}

func TestRule10ExactListsShowThePast(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a"))
	a.create(configMaps, configMap("b"))
	a.delete(configMaps, "a")
	old := a.list(configMaps, version("6"), match(metav1.ResourceVersionMatchExact))
	equal(t, "exact", names(old)+"@"+old.List.ResourceVersion, "a b@6")
	equal(t, "not older", names(a.list(configMaps, version("6"), match(metav1.ResourceVersionMatchNotOlderThan))), "b")
	a.Store().Compact(0)
	a.refused(a.request(apiserver.List, configMaps, "", version("6"), match(metav1.ResourceVersionMatchExact)), 410, "Expired",
		"The resourceVersion for the provided list is too old.")
}

func TestRule10Selectors(t *testing.T) {
	a := newAPI(t)
	for i := range 100 { // enough for an index
		p := pod(fmt.Sprintf("p%02d", i), fmt.Sprintf("n%d", i%25))
		p.Labels = map[string]string{"fifth": fmt.Sprint(i % 5), "half": fmt.Sprint(i % 2)}
		if i%10 == 0 {
			p.Labels["tenth"] = ""
		}
		a.create(pods, p)
	}
	a.patch(pods, "p07", `{"status":{"phase":"Running","podIP":"10.0.0.7"}}`, sub("status"))
	for _, c := range []struct{ labels, fields, want string }{
		{"fifth=3,half=1", "spec.nodeName=n3", "p03 p53"},
		{"fifth in (3,4),half notin (0),tenth", "", ""},
		{"tenth,half=0", "spec.nodeName=n10", "p10 p60"},
		{"tenth!=,!none", "spec.nodeName=n1", "p01 p26 p51 p76"},
		{"", "status.podIP=10.0.0.7", "p07"},
		{"", "status.phase!=Pending", "p07"},
		{"", "metadata.name=p01,spec.nodeName=n1", "p01"},
		{"", "metadata.name=p01,spec.nodeName=n2", ""},
		{"", "metadata.name=p01,metadata.namespace=other", ""},
	} {
		equal(t, c.labels+" "+c.fields, names(a.list(pods, labelled(c.labels), fielded(c.fields))), c.want)
	}
	a.refused(a.request(apiserver.List, pods, "", fielded("spec.containers=x")), 400, "BadRequest", "field label not supported: spec.containers")
	a.refused(a.request(apiserver.List, pods, "", fielded("metadata.name in (a)")), 400, "BadRequest",
		"invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'")
}

func TestRule10EventsAreSelectedByEitherName(t *testing.T) {
	a := newAPI(t)
	events := corev1.SchemeGroupVersion.WithResource("events")
	a.create(events, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Namespace: "default", Name: "p"}})
	modern := events
	modern.Group = "events.k8s.io"
	equal(t, "v1", names(a.list(events, fielded("involvedObject.name=p"))), "e")
	equal(t, "events.k8s.io", names(a.list(modern, fielded("regarding.name=p"))), "e")
	a.refused(a.request(apiserver.List, modern, "", fielded("involvedObject.name=p")), 400, "BadRequest", "field label not supported: involvedObject.name")
}
