package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func configMap(ns, name string, kv ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	for i := 0; i < len(kv); i += 2 {
		metav1.SetMetaDataLabel(&cm.ObjectMeta, kv[i], kv[i+1])
	}
	return cm
}

func keyOf(o Object) Key { return Key{o.GetNamespace(), o.GetName()} }

func create(t *testing.T, tab *Table, o Object) Object {
	t.Helper()
	if err := tab.Create(keyOf(o), o); err != nil {
		t.Fatalf("create %v: %v", keyOf(o), err)
	}
	return o
}

func replace(t *testing.T, tab *Table, prev, next Object) Object {
	t.Helper()
	if err := tab.Update(keyOf(prev), next, prev); err != nil {
		t.Fatalf("update %v: %v", keyOf(prev), err)
	}
	return next
}

func remove(t *testing.T, tab *Table, o Object) {
	t.Helper()
	if _, err := tab.Delete(keyOf(o), o); err != nil {
		t.Fatalf("delete %v: %v", keyOf(o), err)
	}
}

func names(objs []Object) string {
	var out []string
	for _, o := range objs {
		out = append(out, keyOf(o).String()+"@"+o.GetResourceVersion())
	}
	return strings.Join(out, " ")
}

func list(t *testing.T, tab *Table, q Query) string {
	t.Helper()
	r, err := tab.List(q)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return names(r.Objects)
}

func drain(c *Cursor) string {
	var out []string
	for {
		e, ok, err := c.Next()
		switch {
		case err != nil:
			return strings.Join(append(out, err.Error()), " ")
		case !ok:
			return strings.Join(out, " ")
		case e.Kind == InitialEnd:
			out = append(out, fmt.Sprintf("end@%d", e.Revision))
		default:
			what := [...]string{"+", "~", "-"}[e.Kind]
			out = append(out, what+e.Object.GetName()+"@"+e.Object.GetResourceVersion())
		}
	}
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestOneCounterServesAllTables(t *testing.T) {
	s := New(Config{})
	a := create(t, s.Table("a"), configMap("x", "one"))
	b := create(t, s.Table("b"), configMap("x", "one"))
	remove(t, s.Table("a"), a)
	c := create(t, s.Table("a"), configMap("x", "one"))
	equal(t, "revisions", a.GetResourceVersion()+b.GetResourceVersion()+c.GetResourceVersion(), "124")
	if s.Revision() != 4 {
		t.Errorf("the deletion took no revision: %d", s.Revision())
	}
}

func TestWritesNameTheObjectTheyComeFrom(t *testing.T) {
	tab := New(Config{}).Table("a")
	one := create(t, tab, configMap("x", "one"))
	if err := tab.Create(keyOf(one), configMap("x", "one")); !errors.Is(err, ErrExists) {
		t.Errorf("second create: %v", err)
	}
	two := replace(t, tab, one, configMap("x", "one", "l", "2"))
	if err := tab.Update(keyOf(one), configMap("x", "one"), one); !errors.Is(err, ErrConflict) {
		t.Errorf("update of an old state: %v", err)
	}
	if _, err := tab.Delete(keyOf(one), one); !errors.Is(err, ErrConflict) {
		t.Errorf("delete of an old state: %v", err)
	}
	last, err := tab.Delete(keyOf(two), two)
	if err != nil || last.GetResourceVersion() != "3" || two.GetResourceVersion() != "2" {
		t.Errorf("delete: %v, %v after %v", err, last.GetResourceVersion(), two.GetResourceVersion())
	}
	if err := tab.Update(keyOf(one), configMap("x", "one"), two); !errors.Is(err, ErrNotFound) {
		t.Errorf("update of nothing: %v", err)
	}
}

// fill makes three namespaces of 60 objects, enough for an index.
func fill(t *testing.T, tab *Table) {
	for i := range 180 {
		create(t, tab, configMap(string(rune('a'+i%3)), fmt.Sprintf("o%03d", i), "tenth", fmt.Sprint(i/3%10)))
	}
}

func TestListSelects(t *testing.T) {
	tab := New(Config{}).Table("a")
	fill(t, tab)
	third := &Field{Name: "last", Get: func(o Object) string { return o.GetName()[3:] }}
	parse := func(s string) labels.Selector {
		sel, err := labels.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return sel
	}
	for _, c := range []struct {
		what string
		sel  Selector
		want string
	}{
		{"a name in a namespace", Selector{Namespace: "b", Name: "o001"}, "b/o001@2"},
		{"a name in all namespaces", Selector{Name: "o002"}, "c/o002@3"},
		{"a name that is elsewhere", Selector{Namespace: "a", Name: "o001"}, ""},
		{"a label", Selector{Namespace: "a", Labels: parse("tenth=9")},
			"a/o027@28 a/o057@58 a/o087@88 a/o117@118 a/o147@148 a/o177@178"},
		{"a label in a list of one", Selector{Namespace: "c", Labels: parse("tenth in (0)")},
			"c/o002@3 c/o032@33 c/o062@63 c/o092@93 c/o122@123 c/o152@153"},
		{"a label with no objects", Selector{Labels: parse("tenth=10")}, ""},
		{"two labels", Selector{Labels: parse("tenth=9,nope")}, ""},
		{"a label and a field", Selector{Labels: parse("tenth=9"), Terms: []Term{{Field: third, Value: "7"}}},
			"a/o027@28 a/o057@58 a/o087@88 a/o117@118 a/o147@148 a/o177@178"},
		{"a field that must differ", Selector{Labels: parse("tenth=9"), Namespace: "b", Terms: []Term{{Field: third, Value: "8", Not: true}}}, ""},
	} {
		equal(t, c.what, list(t, tab, Query{Selector: c.sel}), c.want)
	}
}

func TestIndexesFollowWrites(t *testing.T) {
	tab := New(Config{}).Table("a")
	fill(t, tab)
	sel := Selector{Namespace: "a", Labels: labels.SelectorFromSet(labels.Set{"tenth": "0"})}
	equal(t, "before", list(t, tab, Query{Selector: sel}), "a/o000@1 a/o030@31 a/o060@61 a/o090@91 a/o120@121 a/o150@151")
	get := func(n string) Object { o, _ := tab.Get(Key{"a", n}); return o }
	replace(t, tab, get("o000"), configMap("a", "o000"))
	replace(t, tab, get("o003"), configMap("a", "o003", "tenth", "0"))
	replace(t, tab, get("o060"), configMap("a", "o060", "tenth", "0", "more", "x"))
	remove(t, tab, get("o090"))
	create(t, tab, configMap("a", "new", "tenth", "0"))
	equal(t, "after", list(t, tab, Query{Selector: sel}), "a/new@185 a/o003@182 a/o030@31 a/o060@183 a/o120@121 a/o150@151")
}

func TestOldListsShowTheStateOfTheirRevision(t *testing.T) {
	s := New(Config{})
	tab := s.Table("a")
	a := create(t, tab, configMap("x", "a"))
	b := create(t, tab, configMap("x", "b"))
	states := map[uint64]string{0: "x/b@3 x/c@5", 1: "x/a@1", 2: "x/a@1 x/b@2", 3: "x/a@1 x/b@3", 4: "x/b@3", 5: "x/b@3 x/c@5"}
	replace(t, tab, b, configMap("x", "b", "l", "3"))
	remove(t, tab, a)
	create(t, tab, configMap("x", "c"))
	for rev, want := range states {
		equal(t, fmt.Sprintf("at %d", rev), list(t, tab, Query{Revision: rev}), want)
		one := list(t, tab, Query{Revision: rev, Selector: Selector{Namespace: "x", Name: "b"}})
		if rev == 2 {
			equal(t, "one at 2", one, "x/b@2")
		}
	}
	s.Compact(3)
	if _, err := tab.List(Query{Revision: 2}); !errors.Is(err, ErrExpired) {
		t.Errorf("list before the compaction: %v", err)
	}
	equal(t, "list at the compaction", list(t, tab, Query{Revision: 3}), states[3])
}

func TestPagesComeFromOneState(t *testing.T) {
	tab := New(Config{}).Table("a")
	objs := map[string]Object{}
	for _, n := range []string{"a", "c", "e", "g", "i"} {
		objs[n] = create(t, tab, configMap("x", n))
	}
	create(t, tab, configMap("y", "z"))
	q := Query{Selector: Selector{Namespace: "x"}, Limit: 2}
	first, err := tab.List(q)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "page 1", names(first.Objects), "x/a@1 x/c@2")
	if !first.More || first.Left != 3 {
		t.Errorf("page 1: more %v, left %d", first.More, first.Left)
	}
	create(t, tab, configMap("x", "d"))
	remove(t, tab, objs["e"])
	replace(t, tab, objs["g"], configMap("x", "g"))
	q.Revision, q.Continue, q.After = first.Revision, true, Key{"x", "c"}
	second, _ := tab.List(q)
	equal(t, "page 2", names(second.Objects), "x/e@3 x/g@4")
	q.After = Key{"x", "g"}
	third, _ := tab.List(q)
	equal(t, "page 3", names(third.Objects), "x/i@5")
	if third.More {
		t.Error("page 3 says that there is more")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	s := New(Config{History: 4})
	tab, other := s.Table("a"), s.Table("b")
	o := create(t, tab, configMap("x", "o"))
	for range 5 {
		o = replace(t, tab, o, configMap("x", "o"))
	}
	for rev, want := range map[uint64]error{1: ErrExpired, 2: nil, 5: nil} {
		if _, err := tab.List(Query{Revision: rev}); !errors.Is(err, want) {
			t.Errorf("list at %d: %v", rev, err)
		}
		if _, err := s.View().Watch(tab, WatchQuery{From: rev}); !errors.Is(err, want) {
			t.Errorf("watch from %d: %v", rev, err)
		}
	}
	if _, err := other.List(Query{Revision: 1}); err != nil {
		t.Errorf("another table lost its history: %v", err)
	}
	s.Forget()
	if _, err := s.View().Watch(other, WatchQuery{From: 5}); !errors.Is(err, ErrExpired) {
		t.Errorf("watch from before Forget: %v", err)
	}
	if _, err := s.View().Watch(other, WatchQuery{From: 6}); err != nil {
		t.Errorf("watch from now: %v", err)
	}
}

func TestGuardFindsChangedObjects(t *testing.T) {
	s := New(Config{Check: func(table string, k Key, stored, asWritten Object) {
		if diff := cmp.Diff(asWritten, stored); diff != "" {
			panic(table + " " + k.String() + " was changed")
		}
	}})
	cm := configMap("x", "o")
	create(t, s.Table("a"), cm)
	cm.Data = map[string]string{"oops": ""}
	defer func() {
		if r := recover(); r != "a x/o was changed" {
			t.Errorf("recovered %v", r)
		}
	}()
	s.Table("a").Get(Key{"x", "o"})
	t.Error("nobody noticed")
}
