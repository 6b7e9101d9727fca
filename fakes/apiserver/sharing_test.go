package apiserver_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func shared(r *apiserver.Request) { r.Shared = true }

func TestObjectsAreTheCallersUnlessShared(t *testing.T) {
	a := newAPI(t)
	sent := configMap("a", data("k", "v"))
	a.create(configMaps, sent)
	sent.Data["k"] = "changed by the sender"
	got := a.get(configMaps, "a").(*corev1.ConfigMap)
	equal(t, "stored", got.Data["k"], "v")
	got.Data["k"] = "changed by a reader"
	a.list(configMaps).Items[0].(*corev1.ConfigMap).Data["k"] = "changed by another"
	equal(t, "still", a.get(configMaps, "a", shared).(*corev1.ConfigMap).Data["k"], "v")
	if a.get(configMaps, "a", shared) != a.get(configMaps, "a", shared) {
		t.Error("shared reads give copies")
	}
	given := configMap("b", data("k", "v"))
	stored := a.create(configMaps, given, shared, func(r *apiserver.Request) { r.Owned = true })
	if stored != apiserver.Object(given) {
		t.Error("an object that was given away was copied")
	}
}

// TestTheGuardNamesWhoWasChanged: a test that changes a shared object is told so.
func TestTheGuardNamesWhoWasChanged(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a", data("k", "v")))
	a.get(configMaps, "a", shared).(*corev1.ConfigMap).Data["k"] = "oops"
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "somebody changed the stored object configmaps default/a") || !strings.Contains(text, "oops") {
			t.Errorf("panic: %s", text)
		}
	}()
	a.get(configMaps, "a")
	t.Error("nobody noticed")
}

// TestVersionsShareButNeverChange: whatever writes come, every version that was
// ever handed out stays as it was, although versions share memory.
func TestVersionsShareButNeverChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := newAPI(t)
		a.create(pods, pod("p", "n1"))
		type version struct{ now, then *corev1.Pod }
		var seen []version
		steps := []func(p *corev1.Pod){
			func(p *corev1.Pod) { p.Labels = map[string]string{"n": fmt.Sprint(len(seen))} },
			func(p *corev1.Pod) { delete(p.Labels, "n") },
			func(p *corev1.Pod) { p.Annotations = map[string]string{"n": fmt.Sprint(len(seen))} },
			func(p *corev1.Pod) { p.Spec.Containers[0].Image = fmt.Sprintf("image:%d", len(seen)) },
			func(p *corev1.Pod) {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprint("k", len(seen)), Operator: "Exists"})
			},
			func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprint(len(seen)))})
			},
			func(p *corev1.Pod) { p.Finalizers = []string{"example.com/f"} },
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			now := a.get(pods, "p", shared).(*corev1.Pod)
			seen = append(seen, version{now, now.DeepCopy()})
			next := now.DeepCopy()
			steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "change")](next)
			if rapid.Bool().Draw(rt, "status") {
				a.update(pods, next, sub("status"))
			} else {
				a.update(pods, next)
			}
		}
		for _, v := range seen {
			equal(t, "version "+v.then.ResourceVersion, v.now, v.then)
		}
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// TestManyWritersLoseNothing: the server may be used from many goroutines, and
// optimistic concurrency works between them.
func TestManyWritersLoseNothing(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a"))
	w := a.watch(configMaps, version("5"))
	const writers, writes = 8, 50
	var wg sync.WaitGroup
	for i := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			key := fmt.Sprint("w", i)
			for n := 0; n < writes; {
				r, err := a.Do(a.request(apiserver.Get, configMaps, "a"))
				if err != nil {
					t.Error(err)
					return
				}
				cm := r.Object.(*corev1.ConfigMap)
				if cm.Data == nil {
					cm.Data = map[string]string{}
				}
				cm.Data[key] = fmt.Sprint(n + 1)
				_, err = a.Do(a.request(apiserver.Update, configMaps, "a", body(cm)))
				switch {
				case err == nil:
					n++
				case !apierrors.IsConflict(err):
					t.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	cm := a.get(configMaps, "a").(*corev1.ConfigMap)
	for i := range writers {
		equal(t, "writes", cm.Data[fmt.Sprint("w", i)], fmt.Sprint(writes))
	}
	equal(t, "events", len(strings.Fields(drain(w))), writers*writes)
}

// TestTwoServersGiveTheSameAnswers: nothing depends on the order of maps, the
// clock of the machine or chance.
func TestTwoServersGiveTheSameAnswers(t *testing.T) {
	run := func() string {
		a := newAPI(t)
		w := a.watch(configMaps, in(""))
		a.create(configMaps, configMap("a", func(cm *corev1.ConfigMap) { cm.GenerateName, cm.Name = "g-", "" }))
		a.create(pods, pod("p", ""))
		bad := configMap("b")
		bad.Data = map[string]string{"x/y": "", "a/b": "", "m/n": ""}
		bad.Labels = map[string]string{"l": "not valid!", "k": "nor this!"}
		_, err := a.Do(a.request(apiserver.Create, configMaps, "", body(bad)))
		e, _ := w.Next()
		return fmt.Sprint(a.get(pods, "p"), e.Object, err)
	}
	first := run()
	for range 20 {
		if again := run(); again != first {
			t.Fatalf("differs:\n%s\n%s", first, again)
		}
	}
}
