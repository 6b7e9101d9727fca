package apiserver_test

import (
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// TestInstancesLagBehindEachOther is what time travel in a cluster with several
// API servers looks like to a client.
func TestInstancesLagBehindEachOther(t *testing.T) {
	a := newAPI(t)
	old := *a
	old.Server = apiserver.NewServer(a.Store(), "old")
	a.create(configMaps, configMap("a"))
	old.Freeze()
	running := old.watch(configMaps)
	a.delete(configMaps, "a")
	a.create(configMaps, configMap("b"))

	equal(t, "live reads", names(old.list(configMaps)), "b")
	equal(t, "cached reads", names(old.list(configMaps, version("0"))), "a")
	equal(t, "a cached get of what is gone", old.get(configMaps, "a", version("0")).GetName(), "a")
	equal(t, "not older than what it has", names(old.list(configMaps, version("5"))), "a")
	old.refused(old.request(apiserver.List, configMaps, "", version("6")), 504, "Timeout", "Timeout: Too large resource version: 6, current: 5")
	equal(t, "a running watch", drain(running), "+a@5")
	equal(t, "an informer", drain(old.watch(configMaps, initialEvents)), "+a@5")
	old.update(configMaps, configMap("b", data("k", "v"))) // writes go through

	told := 0
	running.OnReady(func() { told++ })
	old.SetVisible(6)
	equal(t, "a step on", drain(running), "-a@6")
	equal(t, "reads", names(old.list(configMaps, version("0"))), "")
	late := old.watch(configMaps, initialEvents)
	equal(t, "the end of initial events waits for what was there when it was opened", drain(late), "")
	old.Live()
	equal(t, "caught up", drain(running), "+b@7 ~b@8")
	equal(t, "and the informer", drain(late), "+b@7 ~b@8 =end@8")
	equal(t, "calls", told, 2)
	equal(t, "the other server never lagged", names(a.list(configMaps, version("0"))), "b")
}
