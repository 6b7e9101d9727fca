package apiserver_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func bookmarks(r *apiserver.Request) { r.AllowWatchBookmarks = true }

// initialEvents is how informers start.
func initialEvents(r *apiserver.Request) {
	yes := true
	r.AllowWatchBookmarks, r.SendInitialEvents, r.ResourceVersionMatch = true, &yes, metav1.ResourceVersionMatchNotOlderThan
}

func TestRule09WhereAWatchStarts(t *testing.T) {
	a := newAPI(t)
	for _, n := range []string{"b", "a"} {
		a.create(configMaps, configMap(n))
	}
	streams := map[string]*apiserver.Watch{
		"from a version":       a.watch(configMaps, version("5")),
		"unset":                a.watch(configMaps),
		"zero":                 a.watch(configMaps, version("0")),
		"unset with bookmarks": a.watch(configMaps, bookmarks),
		"initial events":       a.watch(configMaps, initialEvents),
		"the future":           a.watch(configMaps, version("7")),
	}
	for _, n := range []string{"c", "d"} {
		a.create(configMaps, configMap(n))
	}
	for what, want := range map[string]string{
		"from a version":       "+a@6 +c@7 +d@8",
		"unset":                "+a@6 +b@5 +c@7 +d@8",
		"zero":                 "+a@6 +b@5 +c@7 +d@8",
		"unset with bookmarks": "+a@6 +b@5 =end@6 +c@7 +d@8",
		"initial events":       "+a@6 +b@5 =end@6 +c@7 +d@8",
		"the future":           "+d@8",
	} {
		equal(t, what, drain(streams[what]), want)
	}
}

func TestRule09RefusedWatches(t *testing.T) {
	a := newAPI(t)
	refuse := func(code int32, reason metav1.StatusReason, text string, opts ...func(*apiserver.Request)) {
		t.Helper()
		_, err := a.Watch(a.request(apiserver.WatchVerb, configMaps, "", opts...))
		a.status(err, code, reason, text)
	}
	refuse(500, "", `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`, version("abc"))
	refuse(400, "BadRequest", `"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"`, fielded("data.k=v"))
	refuse(422, "Invalid", `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`,
		initialEvents, match(""))
}

func TestRule09LeavingASelectorLooksLikeDeletion(t *testing.T) {
	a := newAPI(t)
	cm := configMap("a")
	cm.Labels = map[string]string{"x": "1"}
	a.create(configMaps, cm)
	w := a.watch(configMaps, labelled("x=1"), version("5"))
	out := a.patch(configMaps, "a", `{"metadata":{"labels":{"x":"2"}}}`)
	a.patch(configMaps, "a", `{"data":{"unseen":"1"}}`)
	a.patch(configMaps, "a", `{"metadata":{"labels":{"x":"1"}}}`)
	a.patch(configMaps, "a", `{"metadata":{"labels":null}}`)
	a.delete(configMaps, "a")
	first, _ := w.Next()
	equal(t, "content of the DELETED event", first.Object.GetLabels(), map[string]string{"x": "1"})
	equal(t, "its version", first.Object.GetResourceVersion(), out.GetResourceVersion())
	equal(t, "the rest", drain(w), "+a@8 -a@9")
}

func TestRule09ANodeSeesItsPods(t *testing.T) {
	a := newAPI(t)
	w := a.watch(pods, fielded("spec.nodeName=n1"), initialEvents, in(""))
	a.create(pods, pod("p", ""))
	a.create(pods, pod("q", "n2"))
	a.must(a.request(apiserver.Create, pods, "p", sub("binding"), body(&corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Name: "n1"}})))
	a.delete(pods, "p", grace(0))
	equal(t, "events", drain(w), "=end@4 +p@7 ~p@8 -p@9")
}

func TestRule09TooOldEndsTheStream(t *testing.T) {
	a := newAPI(t, func(o *apiserver.Options) { o.History = 4 })
	a.create(configMaps, configMap("a"))
	for _, v := range []string{"1", "2", "3", "4", "5"} {
		a.patch(configMaps, "a", `{"data":{"k":"`+v+`"}}`)
	}
	w := a.watch(configMaps, version("5"))
	equal(t, "before the history", drain(w), "410 Expired: too old resource version: 5 (6)")
	if !w.Ended() {
		t.Error("the stream goes on after an error")
	}
	equal(t, "within it", drain(a.watch(configMaps, version("6"))), "~a@7 ~a@8 ~a@9 ~a@10")

	a.Store().Compact(0)
	equal(t, "compaction leaves the watch cache", drain(a.watch(configMaps, version("8"))), "~a@9 ~a@10")
	a.Store().ForgetHistory()
	equal(t, "a restart does not", drain(a.watch(configMaps, version("8"))), "410 Expired: too old resource version: 8 (10)")
}

// The stream of a reader who has fallen behind ends without a word. Only the next
// watch from what he has seen last is told why.
func TestRule09ASlowReadersStreamEnds(t *testing.T) {
	a := newAPI(t, func(o *apiserver.Options) { o.History = 4 })
	a.create(configMaps, configMap("a"))
	w := a.watch(configMaps, version("5"))
	a.patch(configMaps, "a", `{"data":{"k":"0"}}`)
	equal(t, "read in time", drain(w), "~a@6")
	told := 0
	w.OnReady(func() { told++ })
	for _, v := range []string{"1", "2", "3", "4", "5"} {
		a.patch(configMaps, "a", `{"data":{"k":"`+v+`"}}`)
	}
	equal(t, "too late", drain(w), "")
	if !w.Ended() || told == 0 {
		t.Errorf("the stream has ended: %v; its reader was told %d times", w.Ended(), told)
	}
	equal(t, "once more from there", drain(a.watch(configMaps, version("6"))), "410 Expired: too old resource version: 6 (7)")
}

func TestRule09EventsHaveNoWatchCache(t *testing.T) {
	a := newAPI(t)
	events := corev1.SchemeGroupVersion.WithResource("events")
	a.create(events, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"}})
	a.patch(events, "e", `{"count":2}`)
	a.Store().Compact(0)
	equal(t, "after a compaction", drain(a.watch(events, version("5"))), "410 Expired: The resourceVersion for the provided watch is too old.")
}

func TestRule09BookmarksAndTimeoutsAreDrivenFromOutside(t *testing.T) {
	a := newAPI(t)
	w := a.watch(configMaps, version("4"), bookmarks, func(r *apiserver.Request) { n := int64(10); r.TimeoutSeconds = &n })
	called := 0
	w.OnReady(func() { called++ })
	a.create(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}})
	if !w.Bookmark() || called != 1 {
		t.Errorf("an idle stream took no bookmark, or its reader was not told: %d", called)
	}
	equal(t, "bookmark", drain(w), "=@5")
	a.create(configMaps, configMap("a"))
	if w.Bookmark() {
		t.Error("a bookmark got before an event")
	}
	equal(t, "event", drain(w), "+a@6")

	at, ok := w.Deadline()
	equal(t, "deadline", ok && at.Equal(a.clock.now.Add(10*time.Second)), true)
	w.Expire()
	equal(t, "ended early", w.Ended(), false)
	a.clock.now = at
	w.Expire()
	equal(t, "calls", called, 3)
	if _, ok := w.Next(); ok || !w.Ended() {
		t.Error("the stream goes on after its time")
	}
}

func TestRule09AReaderIsToldOnce(t *testing.T) {
	a := newAPI(t)
	w := a.watch(configMaps)
	var seen []string
	w.OnReady(func() { seen = append(seen, drain(w)) }) // a reader may read in its callback
	drain(w)
	a.create(configMaps, configMap("a"))
	a.create(configMaps, configMap("b"))
	equal(t, "reads", seen, []string{"+a@5", "+b@6"})
	w.Stop()
	w.Stop()
	a.create(configMaps, configMap("c"))
	equal(t, "after Stop", len(seen), 2)
}

func TestRule09AWatchFromARestartedServerEnds(t *testing.T) {
	a := newAPI(t)
	w := a.watch(configMaps)
	told := false
	w.OnReady(func() { told = true })
	drain(w)
	a.Restart()
	if !told || !w.Ended() {
		t.Errorf("told %v, ended %v", told, w.Ended())
	}
}
