package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

const ms = time.Millisecond

// lab is a network under test with a log of arrivals.
type lab struct {
	*Network
	e   *engine.Engine
	t   *testing.T
	log []string
}

func newLab(t *testing.T, seed uint64, q Quality) *lab {
	t.Helper()
	e := engine.New(engine.Config{Source: engine.NewSeed(seed), Strict: true, Record: true})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &lab{Network: New(e, q), e: e, t: t}
}

func (l *lab) say(format string, args ...any) {
	l.log = append(l.log, fmt.Sprintf("%v ", l.e.Elapsed())+fmt.Sprintf(format, args...))
}

// arrive logs its argument.
func (l *lab) arrive(arg any) { l.say("%v", arg) }

func (l *lab) at(d time.Duration, fn func()) { l.e.After(d, func(any) { fn() }, nil) }

func (l *lab) run() engine.Result {
	l.t.Helper()
	r := l.e.Run()
	if r.Err != nil {
		l.t.Fatalf("%+v", r.Err)
	}
	return r
}

func (l *lab) expect(want ...string) {
	l.t.Helper()
	l.run()
	if d := cmp.Diff(want, l.log); d != "" {
		l.t.Error(d)
	}
}

var tenMs = Quality{Delay: engine.Constant(10 * ms)}

func TestDatagrams(t *testing.T) {
	l := newLab(t, 1, tenMs)
	l.Host("b").Listen("gossip", func(p Packet) { l.say("%s>%s %v", p.From, p.To, p.Payload) })
	l.Host("a").Send("b", "gossip", "ping")
	l.Host("a").Send("b", "other", "NOBODY LISTENS")
	l.Send("b", "b", l.arrive, "to itself")
	l.SetLink("b", "a", Quality{Delay: engine.Constant(ms)})
	l.Send("b", "a", l.arrive, "fast link")
	l.ResetLink("b", "a")
	l.Send("b", "a", l.arrive, "in order behind")
	l.expect("0s to itself", "1ms fast link", "10ms a>b ping", "10ms in order behind")
	if d := cmp.Diff(Stats{Sent: 5, Arrived: 5}, l.Stats()); d != "" {
		t.Error(d)
	}
}

// A rule decides for links without a quality of their own, whenever they are made,
// and until there is another rule.
func TestRule(t *testing.T) {
	l := newLab(t, 1, tenMs)
	slow := func(d time.Duration) Rule {
		return func(from, to string) *Quality {
			if from+">"+to == "a>b" {
				return &Quality{Delay: engine.Constant(d)}
			}
			return nil
		}
	}
	l.SetRule(slow(20 * ms))
	l.SetLink("a", "c", Quality{Delay: engine.Constant(ms)})
	l.Send("a", "b", l.arrive, "by the rule")
	l.Send("b", "a", l.arrive, "as any link")
	l.Send("a", "c", l.arrive, "a link of its own")
	l.SetRule(slow(30 * ms))
	l.Send("a", "b", l.arrive, "by another rule")
	l.SetRule(nil)
	l.SetQuality(Quality{Delay: engine.Constant(40 * ms)})
	l.Send("a", "b", l.arrive, "as any link, later")
	l.expect("1ms a link of its own", "10ms as any link", "20ms by the rule", "30ms by another rule", "40ms as any link, later")
}

// A listener inside a process: packets wait while it is paused, and the port is
// closed when it ends.
func TestListenIn(t *testing.T) {
	l := newLab(t, 1, Quality{})
	l.SetQuality(tenMs)
	p := l.e.Process("agent")
	p.Start(func(ctx context.Context) {
		l.Host("b").ListenIn(p, "gossip", func(pkt Packet) { l.say("%v", pkt.Payload) })
		_ = p.Sleep(ctx, time.Minute)
	})
	for _, at := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second} {
		l.at(at, func() { l.Host("a").Send(l.Host("b").Name(), "gossip", at) })
	}
	l.at(2*time.Second, p.Pause)
	l.at(4*time.Second, p.Resume)
	l.at(4500*ms, p.Crash)
	l.expect("1.01s 1s", "4s 3s")
}

// Rates of faults over many datagrams, and the order of those that are not held up.
func TestFaultRates(t *testing.T) {
	const n = 20_000
	l := newLab(t, 1, Quality{
		Delay: engine.Dist{Min: ms, Mean: 3 * ms, Max: 100 * ms},
		Loss:  100_000, Duplicate: 50_000, Reorder: 20_000,
	})
	count := make([]int, n)
	late, last := 0, -1
	for i := range n {
		l.at(time.Duration(i)*ms, func() {
			l.Send("a", "b", func(any) {
				count[i]++
				if i < last {
					late++
				}
				last = max(last, i)
			}, nil)
		})
	}
	l.run()
	lost, twice := 0, 0
	for _, c := range count {
		switch c {
		case 0:
			lost++
		case 2:
			twice++
		}
	}
	near := func(what string, got, want int) {
		t.Helper()
		if got < want*8/10 || got > want*12/10 {
			t.Errorf("%s: %d, want about %d", what, got, want)
		}
	}
	near("lost", lost, n/10)
	near("twice", twice, n*9/200)
	if late == 0 || late > n/20 {
		t.Errorf("%d overtaken", late)
	}
	s := l.Stats()
	near("counted as lost", int(s.Lost), lost)
	near("counted as reordered", int(s.Reordered), n*95/5000)
}

// Without Reorder a link keeps the order whatever the delays.
func TestOrderIsKept(t *testing.T) {
	l := newLab(t, 7, Quality{Delay: engine.Dist{Mean: 50 * ms, Max: time.Second}})
	var got []int
	for i := range 200 {
		l.at(time.Duration(i)*ms, func() { l.Send("a", "b", func(any) { got = append(got, i) }, nil) })
	}
	l.run()
	if len(got) != 200 || !slices.IsSorted(got) {
		t.Errorf("arrived: %v", got)
	}
}

func TestPartitions(t *testing.T) {
	l := newLab(t, 1, tenMs)
	both := func(when string) {
		for _, p := range [][2]string{{"a", "b"}, {"b", "a"}, {"a", "c"}, {"a", "new"}} {
			l.Send(p[0], p[1], l.arrive, when+" "+p[0]+">"+p[1])
		}
	}
	l.Send("a", "b", func(any) { l.say("LOST ON ITS WAY") }, nil)
	two := l.Partition([]string{"a"}, []string{"b", "x"})
	both("cut")
	l.run()
	one := l.PartitionOneWay([]string{"b"}, []string{"a"})
	two.Heal()
	two.Heal()
	both("one way")
	l.run()
	one.Heal()
	iso := l.Isolate("a", "b")
	inner := l.Isolate("b")
	both("isolated")
	l.run()
	iso.Heal()
	inner.Heal()
	both("healed")
	l.Host("c").SetUp(false)
	l.expect("10ms cut a>c", "10ms cut a>new",
		"20ms one way a>b", "20ms one way a>c", "20ms one way a>new",
		"30ms healed a>b", "30ms healed b>a", "30ms healed a>new")
}

// A bridge host reaches both halves of a cluster that do not reach each other.
func TestBridge(t *testing.T) {
	l := newLab(t, 1, tenMs)
	l.Partition([]string{"a", "bridge"}, []string{"bridge", "b"})
	for _, to := range []string{"a", "b"} {
		l.Send("bridge", to, l.arrive, "bridge>"+to)
		l.Send(to, "bridge", l.arrive, to+">bridge")
	}
	l.Send("a", "b", l.arrive, "A>B")
	l.expect("10ms bridge>a", "10ms a>bridge", "10ms bridge>b", "10ms b>bridge")
}

func TestIsolatedHostsReachEachOther(t *testing.T) {
	l := newLab(t, 1, tenMs)
	cut := l.Isolate("a", "b")
	l.Send("a", "b", l.arrive, "a>b")
	l.Send("a", "c", l.arrive, "A>C")
	l.Send("c", "b", l.arrive, "C>B")
	l.run()
	cut.Heal()
	l.Send("c", "b", l.arrive, "c>b")
	l.expect("10ms a>b", "20ms c>b")
}

// A stream delivers once and in order, whatever the link does.
func TestStreamIsFIFO(t *testing.T) {
	for seed := range uint64(50) {
		l := newLab(t, seed, Quality{
			Delay: engine.Dist{Mean: 20 * ms, Max: time.Second}, Loss: 200_000, Duplicate: 200_000, Reorder: 200_000,
		})
		c := l.Dial("a", "b")
		var got []int
		for i := range 100 {
			l.at(time.Duration(i)*10*ms, func() {
				if err := c.Send("a", func(any) { got = append(got, i) }, nil); err != nil {
					t.Error(err)
				}
			})
		}
		var cut *Cut
		l.at(300*ms, func() { cut = l.Isolate("a") })
		l.at(700*ms, func() { cut.Heal() })
		l.run()
		if len(got) != 100 || !slices.IsSorted(got) {
			t.Fatalf("seed %d: %v", seed, got)
		}
	}
}

func TestStreamBreaks(t *testing.T) {
	send := func(l *lab, c *Conn, from, what string) {
		if err := c.Send(from, l.arrive, what); err != nil {
			l.say("%s: %v", from, err)
		}
	}
	stories := map[string]struct {
		run  func(l *lab, c *Conn)
		want []string
	}{
		"a partition that lasts": {
			run: func(l *lab, c *Conn) {
				cut := l.Isolate("a")
				send(l, c, "a", "LOST")
				l.at(20*time.Second, func() {
					cut.Heal()
					send(l, c, "a", "REFUSED")
					send(l, c, "b", "the silent end still believes") // and learns of it now
				})
			},
			want: []string{"15s a broke: a>b: timed out: connection broken",
				"20s a: a>b: timed out: connection broken",
				"20.02s b broke: a>b: closed by the peer: connection broken"},
		},
		"a partition that heals in time": {
			run: func(l *lab, c *Conn) {
				cut := l.PartitionOneWay([]string{"a"}, []string{"b"})
				send(l, c, "a", "first")
				l.at(time.Second, func() { send(l, c, "a", "second"); send(l, c, "b", "answer") })
				l.at(10*time.Second, cut.Heal)
			},
			want: []string{"1.01s answer", "10.01s first", "10.01s second"},
		},
		"closed: what was sent arrives first": {
			run: func(l *lab, c *Conn) {
				send(l, c, "a", "last words")
				c.Close("a")
				c.Close("a")
				if c.Broken("a") == nil || c.Broken("b") != nil {
					l.say("UNEXPECTED: %v, %v", c.Broken("a"), c.Broken("b"))
				}
				send(l, c, "b", "CROSSING")
			},
			want: []string{"0s a broke: a>b: closed by a: connection broken", "10ms last words",
				"10ms b broke: a>b: closed by the peer: connection broken"},
		},
		"reset: what was sent is lost": {
			run: func(l *lab, c *Conn) {
				send(l, c, "a", "LOST")
				c.Reset()
				send(l, c, "b", "REFUSED")
				c.OnBreak("b", func(err error) { l.say("late: %v", errors.Is(err, ErrBroken)) })
			},
			want: []string{"0s a broke: a>b: reset: connection broken", "0s b broke: a>b: reset: connection broken",
				"0s b: a>b: reset: connection broken", "0s late: true"},
		},
		"a machine that is switched off says nothing": {
			run: func(l *lab, c *Conn) {
				l.at(5*ms, func() { l.Host("a").SetUp(false); send(l, c, "a", "REFUSED") })
				l.at(time.Second, func() { l.Host("a").SetUp(true); send(l, c, "b", "who are you") })
			},
			want: []string{"5ms a broke: a>b: the machine was switched off: connection broken",
				"5ms a: a>b: the machine was switched off: connection broken",
				"1.02s b broke: a>b: closed by the peer: connection broken"},
		},
		"what it had sent is lost with it": {
			run: func(l *lab, c *Conn) {
				send(l, c, "a", "LOST")
				l.at(5*ms, func() { l.Host("a").SetUp(false) })
				l.at(time.Second, func() { l.Host("a").SetUp(true) })
			},
		},
	}
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1, tenMs)
			c := l.Dial("a", "b")
			for _, end := range []string{"a", "b"} {
				c.OnBreak(end, func(err error) { l.say("%s broke: %v", end, err) })
			}
			s.run(l, c)
			l.expect(s.want...)
		})
	}
}

// Choices of one link do not move when another link is used more.
func TestLinksAreIndependent(t *testing.T) {
	q := Quality{Delay: engine.Dist{Mean: 20 * ms, Max: time.Second}, Loss: 100_000}
	arrivals := func(noise int) (log []string) {
		l := newLab(t, 3, q)
		for i := range 50 {
			for range noise {
				l.Send("a", "c", func(any) {}, nil)
			}
			l.Send("a", "b", l.arrive, i)
		}
		l.run()
		return l.log
	}
	if d := cmp.Diff(arrivals(0), arrivals(3)); d != "" {
		t.Error(d)
	}
}
