package cluster

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestObjectsAgainstAMap does random things to a cache and to a plain map; few
// objects and many take different ways.
func TestObjectsAgainstAMap(t *testing.T) {
	for _, names := range []int{5, fewObjects - 1, 4 * fewObjects} {
		t.Run(fmt.Sprint(names, " names"), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(names)))
			var s objects
			want := map[string]Object{}
			for range 3000 {
				ns, name := fmt.Sprint("ns", rng.IntN(3)), fmt.Sprint("o", rng.IntN(names))
				o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
				key := ns + "/" + name
				before, _ := want[key]
				switch rng.IntN(4) {
				case 0:
					if got := s.remove(nameOf(o)); got != before {
						t.Fatalf("removing %s gives %v, want %v", key, got, before)
					}
					delete(want, key)
				case 1:
					if got := s.get(nameOf(o)); got != before {
						t.Fatalf("%s is %v, want %v", key, got, before)
					}
				case 2:
					if before == nil {
						break
					}
					s.remove(nameOf(o))
					if got := s.set(before); got != nil {
						t.Fatalf("%s comes back and replaces %v", key, got)
					}
				default:
					if got := s.set(o); got != before {
						t.Fatalf("setting %s replaces %v, want %v", key, got, before)
					}
					want[key] = o
				}
				if rng.IntN(10) == 0 {
					compareLists(t, &s, want, ns)
				}
			}
			s.reset(append([]Object(nil), s.all()...))
			compareLists(t, &s, want, "ns1")
			s.reset(nil)
			compareLists(t, &s, nil, "ns1")
		})
	}
}

// TestUpdatesKeepTheOrder sees that updates of many objects cost no second sort.
func TestUpdatesKeepTheOrder(t *testing.T) {
	var s objects
	object := func(i int) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("o%05d", i)}}
	}
	for i := range 10_000 {
		s.set(object(i))
	}
	s.all()
	next := object(5000)
	allocated := testing.AllocsPerRun(100, func() {
		s.set(next)
		if list := s.all(); list[5000] != Object(next) {
			t.Fatal("the update is not in the list")
		}
	})
	if allocated > 0 {
		t.Errorf("an update and a list allocate %v times", allocated)
	}
}

func compareLists(t *testing.T, s *objects, want map[string]Object, ns string) {
	t.Helper()
	if s.len() != len(want) || len(s.all()) != len(want) {
		t.Fatalf("%d objects, %d in order, want %d", s.len(), len(s.all()), len(want))
	}
	last, inside := "", 0
	for _, o := range s.all() {
		key := o.GetNamespace() + "/" + o.GetName()
		if want[key] != o || key <= last {
			t.Fatalf("%s after %s: wrong object or order", key, last)
		}
		last = key
		if o.GetNamespace() == ns {
			inside++
		}
	}
	part := s.in(ns)
	if len(part) != inside {
		t.Fatalf("%d objects in %s, want %d", len(part), ns, inside)
	}
	for _, o := range part {
		if !strings.HasPrefix(o.GetNamespace(), ns) {
			t.Fatalf("%s/%s is not in %s", o.GetNamespace(), o.GetName(), ns)
		}
	}
}
