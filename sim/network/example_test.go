package network_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// A client asks a server, by callback, and the answer is lost once. The client is
// a task; the server has none.
func Example() {
	e := engine.New(engine.Config{Source: engine.NewSeed(1)})
	defer e.Close()
	net := network.New(e, network.Quality{Delay: engine.Constant(5 * time.Millisecond)})

	client := e.Process("client")
	ask := func(ctx context.Context) error {
		ctx, cancel := client.WithTimeout(ctx, time.Second)
		defer cancel()
		return client.Await(ctx, engine.Op{Verb: "get"}, func(w *engine.Wait) {
			net.Send("client", "server", func(any) {
				net.Send("server", "client", func(any) { w.Done() }, nil)
			}, nil)
		})
	}
	client.Start(func(ctx context.Context) {
		cut := net.PartitionOneWay([]string{"server"}, []string{"client"})
		err := ask(ctx)
		fmt.Println(e.Elapsed(), err)
		cut.Heal()
		err = ask(ctx)
		fmt.Println(e.Elapsed(), err)
	})
	e.Run()
	// Output:
	// 1s context deadline exceeded
	// 1.01s <nil>
}
