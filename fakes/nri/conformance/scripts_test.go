package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/cloak/node"
	"github.com/seedbed-sim/seedbed/core/cloak/nri"
)

// arm is a container runtime with NRI.
type arm interface {
	// port is the runtime for one life of a plugin; gone ends that life.
	port() (r nri.Runtime, gone func())

	// start runs a Pod as far as the start of its container, and stop ends it. Between the
	// sandbox and the container it waits for hold, if that is not nil.
	start(pod string, hold <-chan struct{}) error
	stop(pod string) error

	// hangUp closes the connection of the plugin, and serve says whether NRI is served.
	hangUp()
	serve(served bool)

	// timeout is how long the runtime waits for an answer.
	timeout() time.Duration
}

// stage is where a script is played: the runtime, and a plugin that writes down what it is
// asked, when it begins and when it ends.
type stage struct {
	*testing.T
	arm

	mu    sync.Mutex
	log   []string
	takes float64 // of the timeout, that the plugin takes for each request
	ended chan error
	gone  func()
}

func (s *stage) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *stage) asked(what string) {
	s.mu.Lock()
	takes := time.Duration(s.takes * float64(s.timeout()))
	s.log = append(s.log, what)
	s.mu.Unlock()
	time.Sleep(takes)
	if takes > 0 {
		s.say("%s, done", what)
	}
}

func (s *stage) Synchronize(_ context.Context, sandboxes []*node.Sandbox, containers []nri.Running) {
	var names []string
	for _, sb := range sandboxes {
		names = append(names, sb.Name)
	}
	for _, c := range containers {
		names = append(names, c.Sandbox.Name+"/"+c.Container.Name)
	}
	s.say("synchronize %s", strings.Join(names, " "))
}

func (s *stage) RunPodSandbox(_ context.Context, sb *node.Sandbox) { s.asked("run " + sb.Name) }
func (s *stage) CreateContainer(_ context.Context, sb *node.Sandbox, c *node.Container) {
	s.asked("create " + sb.Name + " " + c.Name)
}
func (s *stage) StartContainer(_ context.Context, sb *node.Sandbox, c *node.Container) {
	s.asked("start " + sb.Name + " " + c.Name)
}
func (s *stage) RemovePodSandbox(_ context.Context, sb *node.Sandbox) { s.asked("remove " + sb.Name) }

// moment is enough for whatever needs no answer.
func (s *stage) moment() { time.Sleep(s.timeout() / 4) }

// connect starts a plugin.
func (s *stage) connect() {
	r, gone := s.port()
	s.ended, s.gone = make(chan error, 1), gone
	go func(ended chan error) { ended <- r.Serve(context.Background(), "", s) }(s.ended)
	s.moment()
}

// end is how the connection of the plugin has ended.
func (s *stage) end() string {
	select {
	case err := <-s.ended:
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "nobody serves"
		case errors.Is(err, io.EOF):
			return "hung up"
		}
		return "ended"
	case <-time.After(4 * s.timeout()):
		return "goes on"
	}
}

func (s *stage) must(err error) {
	if err != nil {
		s.Error(err)
	}
}

// wait plays something that takes some timeouts, and says how many, rounded.
func (s *stage) wait(play func()) {
	began := time.Now()
	play()
	s.say("took %d", (time.Since(began)+s.timeout()/2)/s.timeout())
}

// scripts, and what comes of them.
var scripts = []struct {
	name string
	play func(*stage)
	want string
}{
	{"a Pod from start to end", func(s *stage) {
		s.connect()
		s.must(s.start("a", nil))
		s.must(s.stop("a"))
	}, "synchronize | run a | create a app | start a app | remove a"},

	{"a plugin that comes later is told of what runs", func(s *stage) {
		s.must(s.start("a", nil))
		s.connect()
	}, "synchronize a a/app"},

	{"nri#63: of a sandbox that is being created while it connects it is not told", func(s *stage) {
		hold, done := make(chan struct{}), make(chan error)
		go func() { done <- s.start("a", hold) }()
		s.moment()
		s.connect()
		close(hold)
		s.must(<-done)
	}, "synchronize | create a app | start a app"},

	{"an answer in time", func(s *stage) {
		s.connect()
		s.takes = 0.5
		s.wait(func() { s.must(s.start("a", nil)) })
	}, "synchronize | run a | run a, done | create a app | create a app, done | start a app | start a app, done | took 2"},

	{"nri#114, nri#316: a late answer fails nothing, and the plugin is dropped", func(s *stage) {
		s.connect()
		s.takes = 2
		s.wait(func() { s.must(s.start("a", nil)) })
		s.say("%s", s.end())
		time.Sleep(2 * s.timeout())
		s.takes = 0
		s.connect()
		s.must(s.stop("a"))
	}, "synchronize | run a | took 1 | hung up | run a, done | synchronize a a/app | remove a"},

	{"requests of two Pods come one after the other", func(s *stage) {
		s.connect()
		s.takes = 0.4
		done := make(chan error)
		go func() { done <- s.start("a", nil) }()
		s.moment()
		s.wait(func() { s.must(s.start("a2", nil)) })
		s.must(<-done)
		s.sortPairs()
	}, "synchronize | pairs 6 | took 2"},

	{"a plugin whose process ends holds nobody up", func(s *stage) {
		s.connect()
		s.takes = 2
		go func() {
			s.moment()
			s.gone()
		}()
		began := time.Now()
		s.must(s.start("a", nil))
		if time.Since(began) > s.timeout()*3/4 {
			s.Errorf("the runtime waits for %s", time.Since(began))
		}
		s.moment()
	}, "synchronize | run a"},

	{"a runtime that is restarted, and one without NRI", func(s *stage) {
		s.connect()
		s.must(s.start("a", nil))
		s.hangUp()
		s.say("%s", s.end())
		s.serve(false)
		s.connect()
		s.say("%s", s.end())
		s.serve(true)
		s.connect()
	}, "synchronize | run a | create a app | start a app | hung up | nobody serves | synchronize a a/app"},
}

// sortPairs makes sure that each request of the log ends before the next begins, and puts
// how many there were in their place: which Pod comes first is nobody's business.
func (s *stage) sortPairs() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rest, pairs []string
	for _, line := range s.log {
		if strings.HasPrefix(line, "synchronize") || strings.HasPrefix(line, "took") {
			rest = append(rest, line)
		} else {
			pairs = append(pairs, line)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i]+", done" != pairs[i+1] {
			s.Errorf("%q and %q are not one after the other", pairs[i], pairs[i+1])
		}
	}
	s.log = append([]string{rest[0], fmt.Sprintf("pairs %d", len(pairs)/2)}, rest[1:]...)
}

// play plays all scripts on an arm.
func play(t *testing.T, name string, run func(t *testing.T, f func(t *testing.T, a arm))) {
	for _, script := range scripts {
		t.Run(name+"/"+script.name, func(t *testing.T) {
			run(t, func(t *testing.T, a arm) {
				s := &stage{T: t, arm: a}
				script.play(s)
				s.moment()
				s.mu.Lock()
				defer s.mu.Unlock()
				got := make([]string, len(s.log))
				for i := range s.log {
					got[i] = strings.TrimSpace(s.log[i])
				}
				if diff := cmp.Diff(strings.Split(script.want, " | "), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
