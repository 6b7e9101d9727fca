package store

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
)

func watch(t *testing.T, v *View, tab *Table, q WatchQuery) *Cursor {
	t.Helper()
	c, err := v.Watch(tab, q)
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	return c
}

func TestWatchSeesWhatItsSelectorDid(t *testing.T) {
	s := New(Config{})
	tab, v := s.Table("a"), s.View()
	old := create(t, tab, configMap("x", "old", "l", "1"))
	all := watch(t, v, tab, WatchQuery{From: 1})
	one := watch(t, v, tab, WatchQuery{Selector: Selector{Labels: labels.SelectorFromSet(labels.Set{"l": "1"})}, Initial: true, Mark: true})
	ns := watch(t, v, tab, WatchQuery{Selector: Selector{Namespace: "y"}})
	name := watch(t, v, tab, WatchQuery{Selector: Selector{Name: "old"}, From: 1})

	out := replace(t, tab, old, configMap("x", "old", "l", "2"))
	in := replace(t, tab, out, configMap("x", "old", "l", "1"))
	create(t, tab, configMap("y", "old", "l", "1"))
	out = replace(t, tab, in, configMap("x", "old"))
	remove(t, tab, out)

	equal(t, "all", drain(all), "~old@2 ~old@3 +old@4 ~old@5 -old@6")
	equal(t, "label", drain(one), "+old@1 end@1 -old@2 +old@3 +old@4 -old@5")
	equal(t, "namespace", drain(ns), "+old@4")
	equal(t, "name", drain(name), "~old@2 ~old@3 +old@4 ~old@5 -old@6")
	if out.GetResourceVersion() != "5" || in.GetResourceVersion() != "3" {
		t.Error("a tombstone changed a stored object")
	}
}

func TestWatchFromAFutureRevisionSkips(t *testing.T) {
	s := New(Config{})
	tab := s.Table("a")
	c := watch(t, s.View(), tab, WatchQuery{From: 2})
	for i := range 4 {
		create(t, tab, configMap("x", fmt.Sprint("o", i)))
	}
	equal(t, "events", drain(c), "+o2@3 +o3@4")
}

func TestReadersAreWokenOnceAndInOrder(t *testing.T) {
	s := New(Config{})
	tab, v := s.Table("a"), s.View()
	var woken []string
	open := func(name string, sel Selector) *Cursor {
		c := watch(t, v, tab, WatchQuery{Selector: sel})
		c.OnReady(func() { woken = append(woken, name) })
		return c
	}
	third := open("third", Selector{Namespace: "x"})
	open("none", Selector{Namespace: "y"})
	open("last", Selector{})
	create(t, tab, configMap("x", "a"))
	create(t, tab, configMap("x", "b")) // nobody has read yet: nobody is called
	equal(t, "woken", fmt.Sprint(woken), "[third last]")
	equal(t, "read", drain(third), "+a@1 +b@2")
	create(t, tab, configMap("x", "c"))
	third.Close()
	create(t, tab, configMap("x", "d"))
	equal(t, "woken", fmt.Sprint(woken), "[third last third]")
	third.OnReady(func() { woken = append(woken, "closed") })
	equal(t, "at once", woken[len(woken)-1], "closed")
}

func TestAHeldViewIsOldAndCatchesUp(t *testing.T) {
	s := New(Config{})
	tab, lag := s.Table("a"), s.View()
	a := create(t, tab, configMap("x", "a"))
	lag.Freeze()
	running := watch(t, lag, tab, WatchQuery{From: 1})
	woken := 0
	running.OnReady(func() { woken++ })
	replace(t, tab, a, configMap("x", "a", "l", "2"))
	create(t, tab, configMap("x", "b"))

	equal(t, "list", names(lag.List(tab, Query{}).Objects), "x/a@1")
	if _, ok := lag.Get(tab, Key{"x", "b"}); ok {
		t.Error("a held view shows a later object")
	}
	opened := watch(t, lag, tab, WatchQuery{Initial: true, Mark: true, Fresh: true})
	plain := watch(t, lag, tab, WatchQuery{Initial: true, Mark: true})
	equal(t, "opened", drain(opened), "+a@1")
	equal(t, "plain", drain(plain), "+a@1 end@1")
	equal(t, "running", drain(running), "")

	lag.Hold(2)
	equal(t, "running at 2", drain(running), "~a@2")
	equal(t, "opened at 2", drain(opened), "~a@2")
	lag.Hold(1) // time does not go back
	if lag.Revision() != 2 {
		t.Errorf("revision %d after going back", lag.Revision())
	}
	lag.Live()
	equal(t, "running live", drain(running), "+b@3")
	equal(t, "opened live", drain(opened), "+b@3 end@3")
	if woken != 2 {
		t.Errorf("woken %d times", woken)
	}
}

func TestASlowReaderIsCutOff(t *testing.T) {
	s := New(Config{History: 3})
	tab := s.Table("a")
	c := watch(t, s.View(), tab, WatchQuery{})
	for i := range 4 {
		create(t, tab, configMap("x", fmt.Sprint(i)))
	}
	equal(t, "events", drain(c), ErrExpired.Error())
	c.Close()
}

// Initial events are what the reader asked for, however many they are: only what
// has happened since counts.
func TestInitialEventsDoNotMakeASlowReader(t *testing.T) {
	s := New(Config{History: 3})
	tab := s.Table("a")
	for i := range 10 {
		create(t, tab, configMap("x", fmt.Sprint(i)))
	}
	c := watch(t, s.View(), tab, WatchQuery{Initial: true, Mark: true})
	create(t, tab, configMap("x", "new"))
	for range 10 {
		if _, ok, err := c.Next(); !ok || err != nil {
			t.Fatalf("initial events end with %v, %v", ok, err)
		}
	}
	equal(t, "events", drain(c), "end@10 +new@11")
	for i := range 4 {
		create(t, tab, configMap("y", fmt.Sprint(i)))
	}
	equal(t, "events", drain(c), ErrExpired.Error())
}

// What a reader has read takes no room, even if there is always more to read.
func TestAReaderWhoIsAlwaysBehindTakesNoRoom(t *testing.T) {
	s := New(Config{})
	tab := s.Table("a")
	c := watch(t, s.View(), tab, WatchQuery{})
	create(t, tab, configMap("x", "ahead"))
	for i := range 5 * longRead {
		create(t, tab, configMap("x", fmt.Sprint(i)))
		if e, ok, err := c.Next(); !ok || err != nil || e.Revision != uint64(i+1) {
			t.Fatalf("event %d: %v, %v, %v", i, e, ok, err)
		}
	}
	if len(c.queue) > 2*longRead {
		t.Errorf("one unread event in a queue of %d", len(c.queue))
	}
}

// TestIndexedDispatchIsExact: whatever the selectors and writes, a cursor sees
// the same as a scan of the whole history would show.
func TestIndexedDispatchIsExact(t *testing.T) {
	field := &Field{Name: "f", Get: func(o Object) string { return o.GetLabels()["f"] }}
	rapid.Check(t, func(t *rapid.T) {
		s := New(Config{})
		tab, v := s.Table("a"), s.View()
		val := rapid.SampledFrom([]string{"1", "2"})
		var cursors []*Cursor
		for range 6 {
			var sel Selector
			if rapid.Bool().Draw(t, "ns") {
				sel.Namespace = val.Draw(t, "ns")
			}
			switch rapid.IntRange(0, 5).Draw(t, "by") {
			case 0:
				sel.Name = val.Draw(t, "name")
			case 1:
				sel.Terms = []Term{{Field: field, Value: val.Draw(t, "field"), Not: rapid.Bool().Draw(t, "not")}}
			case 2:
				sel.Labels = labels.SelectorFromSet(labels.Set{"l": val.Draw(t, "label")})
			case 3:
				sel.Labels, _ = labels.Parse("l in (1,2),f!=1")
			}
			c, err := v.Watch(tab, WatchQuery{Selector: sel})
			if err != nil {
				t.Fatal(err)
			}
			cursors = append(cursors, c)
		}
		for range rapid.IntRange(1, 30).Draw(t, "writes") {
			o := configMap(val.Draw(t, "ns"), val.Draw(t, "name"), "f", val.Draw(t, "f"), "l", val.Draw(t, "l"))
			prev, ok := tab.Get(keyOf(o))
			var err error
			switch {
			case !ok:
				err = tab.Create(keyOf(o), o)
			case rapid.IntRange(0, 3).Draw(t, "del") == 0:
				_, err = tab.Delete(keyOf(o), prev)
			default:
				err = tab.Update(keyOf(o), o, prev)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, c := range cursors {
			scan := &Cursor{table: tab, view: v, sel: c.sel}
			for j := range tab.history.len() {
				scan.offer(tab.history.at(j))
			}
			if got, want := drain(c), drain(scan); got != want {
				t.Fatalf("cursor %d with %+v saw\n%s\nwant\n%s", i, c.sel, got, want)
			}
		}
	})
}
