package main

import (
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	corekube "github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// fleet is three nodes that report the keys of the Secret, each a little later than the
// one before.
type fleet struct {
	*testing.T
	cluster *kube.Cluster
	out     daemontest.Buffer
}

var fleetNodes = []string{"node-a", "node-b", "node-c"}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	cluster, err := kube.Connect(fakerest.New(apiserver.New(apiserver.Options{Clock: clock.New()})).Config(), kube.Options{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{T: t, cluster: cluster}
	for _, name := range fleetNodes {
		f.must(cluster.Live().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	f.must(gossipkeys.NewProvisioner(cluster.Live(), rand.Reader, controller.GossipNamespace).EnsureSecret(t.Context()))
	report := func(v gossipkeys.Version, keys gossipkeys.Keys) {
		for _, name := range fleetNodes {
			time.Sleep(time.Second)
			err := gossipkeys.NewNodeReporter(cluster.Live(), cluster.Live(), name).Report(t.Context(), gossipkeys.Report{Version: v, Keys: keys.Fingerprints(), Time: time.Now()})
			if err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}
	}
	watcher := gossipkeys.NewSecretWatcher(cluster.Cached(), controller.GossipNamespace, gossipkeys.WithVersions(report))
	f.drive(watcher.Watch(func(gossipkeys.Keys) {}))
	return f
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fleet) drive(c corekube.Controller) {
	ctx, cancel := context.WithCancel(f.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.cluster.Run(ctx, c) }()
	f.Cleanup(func() {
		cancel()
		f.must(<-ended)
	})
}

func (f *fleet) call() *rotation {
	r := &rotation{options: &options{gossip: controller.Gossip{Namespace: controller.GossipNamespace}}, out: &f.out, log: &f.out, poll: 2 * time.Second, clock: clock.New()}
	r.use(f.cluster, logr.Discard())
	return r
}

var fingerprint = regexp.MustCompile(`\b[0-9a-f]{8}\b`)

// steps are the lines that tell of steps, with the numbers of keys in place of their
// fingerprints.
func (f *fleet) steps() (lines []string) {
	known := map[string]string{}
	for line := range strings.Lines(f.out.String()) {
		if strings.HasPrefix(line, "rotation ") {
			line = fingerprint.ReplaceAllStringFunc(strings.TrimSpace(line), func(s string) string {
				if known[s] == "" {
					known[s] = "K" + string(rune('1'+len(known)))
				}
				return known[s]
			})
			if len(lines) == 0 || lines[len(lines)-1] != line {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// TestRotate: the new key is added, used, and the only one, and every step is told of.
func TestRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		r := f.call()
		if err := r.begin(t.Context()); !errors.Is(err, gossipkeys.ErrNotConverged) {
			t.Errorf("before the nodes report: %v", err)
		}
		time.Sleep(time.Minute)
		f.must(r.begin(t.Context()))
		if err := r.begin(t.Context()); !errors.Is(err, gossipkeys.ErrRotating) {
			t.Errorf("a second rotation: %v", err)
		}
		f.must(r.stay(t.Context()))
		want := []string{
			"rotation forward to key K1, at step added (generation 1: K2 K1)",
			"rotation forward to key K1, at step flipped (generation 2: K1 K2)",
			"rotation finished to key K1, at step dropped (generation 3: K1)",
		}
		if d := cmp.Diff(want, f.steps()); d != "" {
			t.Errorf("told (-want +got):\n%s", d)
		}
		if !strings.HasSuffix(f.out.String(), "3 of 3 nodes current\n") {
			t.Errorf("it ends with %q", f.out.String())
		}
	})
}

// TestAbort: a rotation that was ended half-way goes back to the old key.
func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		time.Sleep(time.Minute)
		r := f.call()
		f.must(r.begin(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.stay(ctx); err == nil || !strings.Contains(err.Error(), "it was told to stop, and the rotation is not over") {
			t.Errorf("it ends with %v", err)
		}
		back := f.call()
		back.abort = true
		f.must(back.begin(t.Context()))
		f.must(back.stay(t.Context()))
		steps := f.steps()
		if last := steps[len(steps)-1]; last != "rotation aborted to key K1, at step old (generation 2: K2)" {
			t.Errorf("it ends with %q", last)
		}
	})
}
