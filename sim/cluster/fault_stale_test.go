package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// From the read that is struck on, the caches stand still; then they catch up.
func TestCacheStandsStillFromARead(t *testing.T) {
	l := newLab(t, cluster.Config{Profile: profile("cache-stale")}, strikes("cache-stale/node-1/agent", 1))
	l.create("a", "1")
	l.watcher(configMaps)
	l.at(time.Second, func() { l.set("a", "2") }) // the read that it leads to is struck
	l.at(2*time.Second, func() { l.set("a", "3") })
	l.at(20*time.Second, func() { l.set("a", "4") })
	l.run(time.Minute, "2: a: 1", "1001: a: 2", "11001: a: 3", "20001: a: 4")
}

// What happens in the gap of a watch is never seen, only what has come of it.
func TestGapHidesWhatHappensInIt(t *testing.T) {
	l := newLab(t, cluster.Config{Profile: profile("watch-gap")}, strikes("watch-gap/node-1/agent", 3))
	l.create("a", "1")
	l.create("b", "1")
	l.watcher(configMaps)
	l.at(time.Second, func() { l.set("a", "2") })
	l.at(2*time.Second, func() { l.delete("a"); l.create("a", "3"); l.set("b", "2") })
	l.at(3*time.Second, func() { l.set("b", "3") })
	l.run(time.Minute, "2: a: 1", "2: b: 1", "11802: a: 3", "11802: b: 3")
}

// A process that travels in time sees after its restart what was true before it.
func TestTimeTravel(t *testing.T) {
	l := newLab(t, cluster.Config{APIServers: 2, Profile: profile("time-travel")}, strikes("time-travel/node-1/agent", 1))
	l.create("a", "1")
	l.agent(func(ctx context.Context, env *cluster.Env) {
		read := func() {
			var list corev1.ConfigMapList
			l.must(env.Cache.List(ctx, &list))
			for _, o := range list.Items {
				l.say("%s: %s", o.Name, o.Data["v"])
			}
		}
		read()
		if env.Incarnation == 1 {
			l.must(env.Kube.Create(ctx, object("mark", "1")))
		}
		_ = env.Clock.Sleep(ctx, 5*time.Second)
		read()
		_ = env.Clock.Sleep(ctx, time.Minute)
		read()
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.at(2*time.Second, func() { l.set("a", "2") })
	l.run(2*time.Minute,
		"2: a: 1",
		"5004: a: 2", "5004: mark: 1", // it knows of the change
		"11005: a: 1", "11005: mark: 1", // and of nothing after its write, once it was restarted
		"16005: a: 1", "16005: mark: 1",
		"76005: a: 2", "76005: mark: 1")
}

// An API server that was left in the past for a traveller is up to date once faults
// cease.
func TestTimeTravelEndsWithFaults(t *testing.T) {
	l := newLab(t, cluster.Config{APIServers: 2, Profile: profile("time-travel").Until(5 * time.Second)}, strikes("time-travel/node-1/agent", 1))
	l.create("a", "1")
	process := l.agent(func(ctx context.Context, env *cluster.Env) {
		l.must(env.Kube.Create(ctx, object("mark", "1")))
		_ = env.Clock.Sleep(ctx, time.Hour)
	})
	l.run(time.Minute)
	if process.Incarnation() != 1 {
		t.Error("it is restarted after faults have ceased")
	}
}
