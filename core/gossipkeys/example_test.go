package gossipkeys_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// The Secret's data holds one key per line; what prints of a key is its
// fingerprint.
func ExampleParseKeys() {
	keys, err := gossipkeys.ParseKeys([]byte("MDEyMzQ1Njc4OWFiY2RlZg==\n\nZmVkY2JhOTg3NjU0MzIxMA==\n"))
	fmt.Println(keys, err)
	_, err = gossipkeys.ParseKeys([]byte("MDEyMzQ1Njc4OWFiY2RlZg==\nc2VjcmV0\n"))
	fmt.Println(err)
	// Output:
	// [key:9f9f5111 key:3465f6e6] <nil>
	// key at index 1 is invalid: a key has 16, 24 or 32 bytes, not 6
}

// The most common mistake is to put the new key on top at once.
func ExampleCheckEdit() {
	current, fresh := keys("A"), key('B')
	fmt.Println(gossipkeys.CheckEdit(current, append(gossipkeys.Keys{fresh}, current...)))
	fmt.Println(gossipkeys.CheckEdit(current, append(current, fresh)))
	// Output:
	// unsafe edit: the new primary key:425ed4e4 is not yet in every ring, so nodes that have it could not be read by nodes still on the current list: add it at the end of the list first
	// <nil>
}

// A controller process drives the Provisioner; here the driver is one call.
func ExampleProvisioner() {
	api := newMemory()
	controller := gossipkeys.NewProvisioner(api, rand.Reader, "kube-system").Controller()
	for _, request := range controller.Start {
		_, err := controller.Reconciler.Reconcile(context.Background(), request)
		fmt.Println(request, err)
	}
	keys, err := gossipkeys.ParseKeys(api.secret().Data[gossipkeys.DataKey])
	fmt.Println(len(keys), "key,", err)
	// Output:
	// kube-system/antrea-memberlist-keys <nil>
	// 1 key, <nil>
}

// A node agent: a watcher that feeds an Agent, whose controllers go to the
// process's driver and whose Run ends with the process.
func ExampleAgent() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	api := newMemory()
	cache := api // in production the process's informers

	agent := gossipkeys.NewAgent(gossipkeys.AgentConfig{
		Node:   "node-1",
		Clock:  wallClock{},
		Gossip: &stage{}, // in production memberlist
		Peers:  gossipkeys.NewNodePeers(cache, gossipkeys.Port),
		// In production NewNodeReporter(api, cache, "node-1").
		Reporter: reporterFunc(func(r gossipkeys.Report) {
			fmt.Println("reports generation", r.Generation, "with keys", r.Keys)
			cancel()
		}),
	})
	watcher := gossipkeys.NewSecretWatcher(cache, "kube-system",
		gossipkeys.WithLiveStart(api), gossipkeys.WithVersions(agent.OnVersion))
	controllers := agent.Controllers(watcher)

	// What the driver does when the Secret appears.
	api.putSecret(inExample{}, text("A"))
	if _, err := controllers[0].Reconciler.Reconcile(ctx, secretRequest()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("run ended:", agent.Run(ctx))
	// Output:
	// reports generation 0 with keys [22a48051]
	// run ended: <nil>
}

type reporterFunc func(gossipkeys.Report)

func (f reporterFunc) Report(_ context.Context, r gossipkeys.Report) error {
	f(r)
	return nil
}

// inExample stands in for the test in helpers.
type inExample struct{ testing.TB }

func (inExample) Helper()                  {}
func (inExample) Context() context.Context { return context.Background() }
func (inExample) Fatal(args ...any)        { panic(fmt.Sprint(args...)) }

// One rotation from start to end, over a fleet whose nodes report at once.
func ExampleRotator() {
	f := newFleet(inExample{}, "A", "node-1", "node-2")
	f.clock.onSleep = func() { f.report("node-1", "node-2") }
	rotator := gossipkeys.NewRotator(f, f, f.clock, &alphabet{}, "kube-system")
	ctx := context.Background()
	if err := rotator.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	progress, err := rotator.Progress(ctx)
	fmt.Print(progress)
	fmt.Println(err)
	progress, err = rotator.Run(ctx, 5*time.Second)
	fmt.Print(progress)
	fmt.Println(err)
	// Output:
	// rotation forward to key 3ba3f5f4, at step added (generation 1: 22a48051 3ba3f5f4)
	// 0 of 2 nodes current, waiting for:
	//   node-1  behind  generation 0: 22a48051, since 2001-09-09T01:46:40Z
	//   node-2  behind  generation 0: 22a48051, since 2001-09-09T01:46:40Z
	// <nil>
	// rotation finished to key 3ba3f5f4, at step dropped (generation 3: 3ba3f5f4)
	// 2 of 2 nodes current
	// <nil>
}
