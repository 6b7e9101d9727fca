package envelope_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/fakes/kms/envelope"
)

const path = "/registry/secrets/default/s"

// stream is a source of bytes that never repeat.
type stream struct{ n uint64 }

func (s *stream) Read(b []byte) (int, error) {
	for i := range b {
		s.n = s.n*6364136223846793005 + 1442695040888963407
		b[i] = byte(s.n >> 56)
	}
	return len(b), nil
}

// lab is a vault with plugins on several nodes.
type lab struct {
	t      *testing.T
	timers *kms.ManualTimers
	vault  *kms.Vault
	random *stream
}

// node has a plugin and a provider that uses it.
type node struct {
	*envelope.Provider
	lab     *lab
	plugin  *kms.Plugin
	sockets *kms.Sockets
}

const endpoint = "unix:///var/run/kmsplugin/kms-1.sock"

func newLab(t *testing.T) *lab {
	return &lab{t: t, timers: kms.NewManualTimers(), vault: kms.NewVault("kek-1"), random: &stream{}}
}

// node is one whose plugin behaves like that from the start.
func (l *lab) node(b kms.Behaviour, change ...func(*envelope.Config)) *node {
	l.t.Helper()
	n := &node{lab: l, plugin: kms.NewPlugin(l.vault, nil), sockets: kms.NewSockets(l.timers)}
	n.plugin.Behave(b)
	if err := n.sockets.Listen(endpoint, n.plugin); err != nil {
		l.t.Fatal(err)
	}
	n.start(change...)
	return n
}

// start starts the API server of the node, or another one.
func (n *node) start(change ...func(*envelope.Config)) {
	n.lab.t.Helper()
	conn, err := n.sockets.Dial(endpoint, 10*time.Second, n.lab.random)
	if err != nil {
		n.lab.t.Fatal(err)
	}
	c := envelope.Config{Name: "1_secrets", Plugin: conn, Timers: n.lab.timers, Random: n.lab.random}
	for _, f := range change {
		f(&c)
	}
	n.Provider = envelope.New(c)
}

func (n *node) seal(text string) *envelope.Stored {
	n.lab.t.Helper()
	_, s, err := n.Seal(path, []byte(text))
	if err != nil {
		n.lab.t.Fatalf("seal: %v", err)
	}
	return s
}

// opens says what comes of opening a value.
func (n *node) opens(s *envelope.Stored) string {
	text, stale, _, err := n.Open(path, s)
	switch {
	case err != nil:
		return err.Error()
	case stale:
		return string(text) + " (stale)"
	default:
		return string(text)
	}
}

// writes says whether the provider can seal now.
func (n *node) writes() bool {
	_, _, err := n.Seal(path, []byte("x"))
	return err == nil
}

func (l *lab) equal(what string, got, want any) {
	l.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestOneSeedForManyObjects(t *testing.T) {
	l := newLab(t)
	a, b := l.node(kms.Behaviour{}), l.node(kms.Behaviour{})
	first, second := a.seal("one"), a.seal("two")
	l.equal("by who has sealed it", a.opens(first), "one")
	l.equal("by another", b.opens(first)+" "+b.opens(second), "one two")
	l.equal("calls", fmt.Sprint(a.plugin.Calls(kms.Encrypt), a.plugin.Calls(kms.Decrypt), b.plugin.Calls(kms.Encrypt), b.plugin.Calls(kms.Decrypt)), "1 0 1 1")
	if _, _, _, err := a.Open("/registry/secrets/default/other", first); err == nil {
		t.Error("a value can be moved")
	}
	data, stored, err := a.Seal(path, []byte("three"))
	if err != nil || bytes.Contains(data, []byte("three")) {
		t.Fatalf("stored in clear, %v", err)
	}
	again, err := envelope.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	l.equal("decoded", b.opens(again)+again.KeyID(), "three"+stored.KeyID())
}

// TestProbes come each minute, and each ten seconds while something is wrong.
func TestProbes(t *testing.T) {
	l := newLab(t)
	n := l.node(kms.Behaviour{})
	asked := func(d time.Duration) int {
		before := n.plugin.Calls(kms.Status)
		l.timers.Advance(d)
		return n.plugin.Calls(kms.Status) - before
	}
	l.equal("at start", n.plugin.Calls(kms.Status), 1)
	l.equal("in ten good minutes", asked(10*time.Minute), 10)
	n.plugin.Behave(kms.Outage(errors.New("down")))
	l.equal("in two bad minutes", asked(2*time.Minute), 1+6)
	n.plugin.Behave(kms.Behaviour{})
	l.equal("in the minute after that", asked(time.Minute), 2)
	n.Close()
	l.equal("after the end", asked(time.Hour), 0)

	watched := l.node(kms.Behaviour{}, func(c *envelope.Config) { c.Watched = true })
	n = watched
	l.equal("in a minute, with somebody who asks readyz", asked(time.Minute), 3)
}

// TestChecksAreRemembered for 20 s if they were good and 3 s if not.
func TestChecksAreRemembered(t *testing.T) {
	l := newLab(t)
	n := l.node(kms.Behaviour{})
	check := func(after time.Duration) string {
		l.timers.Advance(after)
		before := n.plugin.Calls(kms.Status)
		_, err := n.Check()
		return fmt.Sprint(n.plugin.Calls(kms.Status)-before, err != nil)
	}
	l.equal("at once", check(0), "0 false")
	l.equal("after 19 s", check(19*time.Second), "0 false")
	l.equal("after 20 s", check(time.Second), "1 false")
	n.plugin.Behave(kms.Outage(errors.New("down")))
	l.equal("while it is remembered that all is well", check(10*time.Second), "0 false")
	l.equal("after that", check(10*time.Second), "1 true")
	l.equal("after 2 s", check(2*time.Second), "0 true")
	l.equal("after 3 s", check(time.Second), "1 true")
}

// TestWritingEndsThreeMinutesAfterTheLastGoodProbe, and reading never does.
func TestWritingEndsThreeMinutesAfterTheLastGoodProbe(t *testing.T) {
	l := newLab(t)
	n := l.node(kms.Behaviour{})
	s := n.seal("x")
	l.timers.Advance(time.Minute)
	n.plugin.Behave(kms.Outage(errors.New("down")))
	l.timers.Advance(3 * time.Minute)
	l.equal("writes to the last", n.writes(), true)
	l.timers.Advance(time.Nanosecond)
	_, _, err := n.Seal(path, []byte("x"))
	if err == nil || !strings.HasPrefix(err.Error(), "encryptedDEKSource with keyID hash \"sha256:") || !strings.Contains(err.Error(), "expired at 2030-01-01T00:04:00Z") {
		t.Errorf("after three minutes: %v", err)
	}
	l.timers.Advance(48 * time.Hour)
	l.equal("read after two days", n.opens(s), "x")
	n.plugin.Behave(kms.Behaviour{})
	l.timers.Advance(10 * time.Second)
	l.equal("writes again", n.writes(), true)
	l.equal("with the seed of before", n.plugin.Calls(kms.Encrypt), 1)
}

// TestAPluginThatSaysItIsIll goes on being used as long as its key stays the same
// (kubernetes/kubernetes 138950), or not.
func TestAPluginThatSaysItIsIll(t *testing.T) {
	l := newLab(t)
	as, ought := l.node(kms.Behaviour{}), l.node(kms.Behaviour{}, func(c *envelope.Config) { c.HealthzExpires = true })
	for _, n := range []*node{as, ought} {
		n.plugin.Behave(kms.Behaviour{Healthz: "ill"})
	}
	l.timers.Advance(time.Hour)
	l.equal("with the defect, and without", fmt.Sprint(as.writes(), ought.writes()), "true false")
	for _, n := range []*node{as, ought} {
		if _, err := n.Check(); err == nil || err.Error() != "kmsv2 Provider 1_secrets is not healthy, error: got unexpected healthz status: ill" {
			t.Errorf("check: %v", err)
		}
	}
}

// TestANewKey is taken when Status names it, and only if Encrypt used it.
func TestANewKey(t *testing.T) {
	l := newLab(t)
	n := l.node(kms.Behaviour{})
	old := n.seal("x")
	l.vault.Rotate("kek-2")
	l.timers.Advance(time.Minute)
	l.equal("before the plugin has noticed", n.State().KeyID, "kek-1")
	n.plugin.Behave(kms.Behaviour{StatusKeyID: kms.Stale("kek-2")})
	l.timers.Advance(time.Minute)
	l.equal("Status and Encrypt name different keys", n.State().KeyID, "kek-1")
	_, err := n.Check()
	if err == nil || !strings.Contains(err.Error(), "failed to rotate DEK") {
		t.Errorf("check: %v", err)
	}
	l.equal("what was sealed is not stale", n.opens(old), "x")
	n.plugin.Behave(kms.Behaviour{})
	n.plugin.Refresh()
	l.timers.Advance(10 * time.Second)
	l.equal("the new key", n.State().KeyID, "kek-2")
	l.equal("what was sealed before", n.opens(old), "x (stale)")
	l.equal("what is sealed now", n.opens(n.seal("y")), "y")
}

// TestAFlippingKey makes a seed at each turn, and what is stored is stale at every other.
func TestAFlippingKey(t *testing.T) {
	l := newLab(t)
	l.vault.Rotate("kek-2")
	n := l.node(kms.Behaviour{})
	ids := map[string]bool{}
	for range 6 {
		l.vault.Rotate(map[bool]string{true: "kek-1", false: "kek-2"}[n.State().KeyID == "kek-2"])
		n.plugin.Refresh()
		l.timers.Advance(time.Minute)
		ids[n.State().KeyID] = true
	}
	l.equal("keys", len(ids), 2)
	l.equal("seeds", n.plugin.Calls(kms.Encrypt), 7)
}

// TestAColdServer cannot read while the plugin is away, though its neighbour can.
func TestAColdServer(t *testing.T) {
	l := newLab(t)
	warm := l.node(kms.Behaviour{})
	s := warm.seal("x")
	cold := l.node(kms.Behaviour{})
	cold.plugin.Behave(kms.Outage(errors.New("forbidden"), kms.Decrypt))
	warm.plugin.Behave(kms.Outage(errors.New("forbidden")))
	l.equal("a warm server", warm.opens(s), "x")
	l.equal("a cold one", cold.opens(s), "failed to decrypt DEK, error: rpc error: code = Unknown desc = forbidden")
	l.equal("writes", fmt.Sprint(warm.writes(), cold.writes()), "true true")
	warm.start() // its plugin is down
	l.equal("the warm one after a restart", warm.opens(s), "got unexpected nil transformer")
	l.equal("writes after a restart", warm.writes(), false)
	cold.plugin.Behave(kms.Behaviour{})
	warm.plugin.Behave(kms.Behaviour{})
	l.timers.Advance(10 * time.Second)
	l.equal("when it is over", warm.opens(s)+cold.opens(s), "xx")
}

// TestSlowPlugins: what a probe says comes into force when it is there.
func TestSlowPlugins(t *testing.T) {
	l := newLab(t)
	n := l.node(kms.Behaviour{Latency: 4 * time.Second})
	l.equal("priming took", n.Primed(), 8*time.Second)
	l.vault.Rotate("kek-2")
	n.plugin.Refresh()
	l.timers.Advance(8*time.Second + time.Minute + 7*time.Second)
	l.equal("while the answer is on its way", n.State().KeyID, "kek-1")
	l.timers.Advance(time.Second)
	l.equal("when it is there", n.State().KeyID, "kek-2")
	l.equal("writing is allowed from when Status had answered", n.State().Expires, time.Date(2030, 1, 1, 0, 4, 12, 0, time.UTC))
	n.plugin.Behave(kms.Behaviour{Latency: 11 * time.Second})
	l.timers.Advance(4 * time.Minute)
	l.equal("slower than the timeout", n.writes(), false)
}

// TestAnswersAtTheLimits: a server takes what is just within, and refuses what is not.
func TestAnswersAtTheLimits(t *testing.T) {
	for _, a := range kms.Answers() {
		t.Run(a.Name, func(t *testing.T) {
			l := newLab(t)
			writer := l.node(kms.Behaviour{})
			n := l.node(a.Behaviour)
			_, err := n.Check()
			if a.Read {
				_, _, _, err = n.Open(path, writer.seal("x"))
			}
			if (err != nil) != a.Refused {
				t.Errorf("refused: %v", err)
			}
			if a.Refused && !a.Read && a.Behaviour.Healthz == "" && a.Behaviour.Version == "" && n.writes() {
				t.Error("a key is in use that should have been refused")
			}
		})
	}
}

func TestAVersionThatChanges(t *testing.T) {
	l := newLab(t)
	n := l.node(kms.Behaviour{Version: "v2beta1"})
	n.plugin.Behave(kms.Behaviour{})
	l.timers.Advance(30 * time.Second)
	if _, err := n.Check(); err == nil || !strings.HasSuffix(err.Error(), "KMSv2 API version should not change after the initial status response version v2beta1, got v2") {
		t.Errorf("check: %v", err)
	}
}

// TestSeedsAreForgotten a day after they were met, when others come.
func TestSeedsAreForgotten(t *testing.T) {
	l := newLab(t)
	n, other := l.node(kms.Behaviour{}), l.node(kms.Behaviour{})
	s := other.seal("x")
	l.equal("met", n.opens(s), "x")
	l.equal("seeds", n.Seeds(), 1)
	l.timers.Advance(25 * time.Hour)
	l.equal("opened a day later, without a call", n.opens(s)+fmt.Sprint(n.plugin.Calls(kms.Decrypt)), "x1")
	n.seal("y")
	l.equal("seeds, when another was used", n.Seeds(), 1)
	l.equal("opened then, with a call", n.opens(s)+fmt.Sprint(n.plugin.Calls(kms.Decrypt)), "x2")
}

// TestASnapshotStaysAsItWas, whatever the provider does.
func TestASnapshotStaysAsItWas(t *testing.T) {
	l := newLab(t)
	n := l.node(kms.Behaviour{})
	before := n.Snapshot()
	l.vault.Rotate("kek-2")
	n.plugin.Refresh()
	l.timers.Advance(time.Hour)
	_, s, err := before.Seal(path, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	l.equal("sealed by", s.KeyID(), "kek-1")
	l.equal("opened", n.opens(s), "x (stale)")
}
