package unmodified

import (
	"context"
	"time"

	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// runner is a program and all its incarnations.
type runner struct {
	bubble  *bubble
	program Program
	current *incarnation // the last that was started
}

// incarnation is the life of a program from a start to its end. In the engine it is a
// process, whose main task takes what comes from the gate.
type incarnation struct {
	runner *runner
	name   string
	caller apiserver.Caller
	clock  clock.Clock
	due    clock.Signal
	period *engine.Stream // of watches
	gate   *gate

	// over ends with the incarnation.
	over     context.Context
	webhooks *webhookServer

	listed map[string]int // how many objects first lists had, which were answered with none
	queue  []*call
	ended  bool
	err    error // of Start
}

// main is the process of one incarnation.
func (r *runner) main(ctx context.Context, env *cluster.Env) {
	over, cancel := context.WithCancel(context.Background())
	webhooks := newWebhookServer(over)
	i := &incarnation{
		runner: r, name: env.Process, caller: env.Caller(), clock: env.Clock, due: env.Clock.NewSignal(), over: over, webhooks: webhooks,
		listed: map[string]int{},
		period: env.Cluster().Engine().Stream("watch-period", env.Process),
	}
	i.gate = &gate{bubble: r.bubble, to: i}
	r.current = i
	defer func() { // also in a crash
		i.gate.close()
		r.bubble.stimuli = append(r.bubble.stimuli, cancel)
	}()
	r.bubble.stimuli = append(r.bubble.stimuli, func() { i.launch(context.WithValue(over, serverKey{}, webhooks)) })
	g := env.Clock.NewGroup(ctx)
	for !i.ended {
		if i.due.Wait(ctx) != nil {
			return
		}
		for _, c := range i.take() {
			g.Go("request", func(ctx context.Context) { i.serve(ctx, c) })
		}
	}
	if i.err != nil {
		env.Log.Error(i.err, "The program has ended")
	}
}

// launch starts the program on a goroutine of its own.
func (i *incarnation) launch(ctx context.Context) {
	if i.gate.isClosed() {
		return // it has crashed in the same instant
	}
	cfg := fakerest.New(i.runner.bubble.server, fakerest.WithCaller(i.gate)).Config()
	cfg.UserAgent = i.runner.program.Name
	cfg.QPS = -1
	b := i.runner.bubble
	b.programs.Go(func() {
		err := i.runner.program.Start(ctx, cfg)
		i.gate.act(i.name, func() {
			i.ended, i.err = true, err
			i.due.Send()
		})
	})
}

// admit takes a call from the gate.
func (i *incarnation) admit(c *call) {
	if i.gate.isClosed() {
		return // the caller knows
	}
	i.queue = append(i.queue, c)
	i.due.Send()
}

func (i *incarnation) take() []*call {
	calls := i.queue
	i.queue = nil
	return calls
}

// serve makes a call's way through the cluster.
func (i *incarnation) serve(ctx context.Context, c *call) {
	if c.given {
		return
	}
	ctx, c.cancel = i.clock.WithCancel(ctx)
	switch {
	case c.watch && ptr.Deref(c.req.SendInitialEvents, false) && !i.runner.program.RealLists:
		c.answer(nil, errNoWatchList)
		return
	case !c.watch:
		resp, err := i.caller.Call(ctx, c.req)
		c.answer(i.firstList(c.req, resp, err))
		return
	}
	if err := i.afterFirstList(ctx, c.req); err != nil {
		c.answer(nil, err)
		return
	}
	// client-go draws the period from a source of its own.
	if c.req.TimeoutSeconds != nil {
		seconds := int64(i.period.Duration(engine.Dist{Min: 5 * time.Minute, Max: 10 * time.Minute}) / time.Second)
		c.req.TimeoutSeconds = &seconds
	}
	from, err := i.caller.OpenWatch(ctx, c.req)
	switch {
	case err != nil:
		c.answer(nil, err)
	case c.given:
		from.Stop()
	default:
		c.stream = newStream(c, from)
		c.answer(nil, nil)
	}
}
