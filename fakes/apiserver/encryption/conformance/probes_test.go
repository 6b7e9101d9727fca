package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// step is something that happens to the plugin at a time.
type step struct {
	at time.Duration
	do func(p *kms.Plugin, v *kms.Vault)
}

// script is what happens during a run.
type script struct {
	name   string
	start  kms.Behaviour
	steps  []step
	length time.Duration
	checks time.Duration // how often readyz is asked; never if zero
}

func behave(b kms.Behaviour) func(*kms.Plugin, *kms.Vault) {
	return func(p *kms.Plugin, _ *kms.Vault) { p.Behave(b) }
}

func rotate(id string) func(*kms.Plugin, *kms.Vault) {
	return func(p *kms.Plugin, v *kms.Vault) {
		v.Rotate(id)
		p.Refresh()
	}
}

var down = kms.Outage(errors.New("down"))

// at is a time that coincides with no tick.
func at(seconds int) time.Duration { return time.Duration(seconds)*time.Second + 500*time.Millisecond }

var scripts = []script{
	{name: "nothing happens", length: 10 * time.Minute},
	{name: "readyz is asked", length: 5 * time.Minute, checks: 7 * time.Second},
	{name: "an outage of two minutes", length: 10 * time.Minute, steps: []step{{at(100), behave(down)}, {at(220), behave(kms.Behaviour{})}}},
	{name: "an outage of five minutes", length: 12 * time.Minute, steps: []step{{at(100), behave(down)}, {at(400), behave(kms.Behaviour{})}}},
	{name: "an outage while readyz is asked", length: 12 * time.Minute, checks: 5 * time.Second, steps: []step{{at(100), behave(down)}, {at(400), behave(kms.Behaviour{})}}},
	{name: "down at the start", start: down, length: 8 * time.Minute, steps: []step{{at(130), behave(kms.Behaviour{})}}},
	{name: "down for long at the start", start: down, length: 20 * time.Minute, steps: []step{{at(700), behave(kms.Behaviour{})}, {at(900), behave(down)}}},
	{name: "ill, with the same key", length: 10 * time.Minute, steps: []step{{at(70), behave(kms.Behaviour{Healthz: "ill"})}, {at(420), behave(kms.Behaviour{})}}},
	{name: "ill, with a new key", length: 10 * time.Minute, steps: []step{
		{at(70), behave(kms.Behaviour{Healthz: "ill"})}, {at(80), rotate("kek-2")}, {at(420), behave(kms.Behaviour{})},
	}},
	{name: "ill at the start", start: kms.Behaviour{Healthz: "ill"}, length: 4 * time.Minute},
	{name: "another version", length: 8 * time.Minute, steps: []step{{at(70), behave(kms.Behaviour{Version: "v2beta1"})}, {at(300), behave(kms.Behaviour{})}}},
	{name: "a new key", length: 6 * time.Minute, steps: []step{{at(70), rotate("kek-2")}, {at(200), rotate("kek-3")}, {at(205), rotate("kek-2")}}},
	{name: "Status and Encrypt disagree", length: 10 * time.Minute, steps: []step{
		{at(70), behave(kms.Behaviour{StatusKeyID: kms.Stale("kek-9")})}, {at(420), behave(kms.Behaviour{})},
	}},
	{name: "a key that flips", length: 10 * time.Minute, steps: []step{{at(70), func(p *kms.Plugin, v *kms.Vault) {
		v.Rotate("kek-2")
		v.Rotate("kek-1")
		p.Behave(kms.Behaviour{StatusKeyID: kms.FlipFlop("kek-2", "kek-1")})
	}}}},
	{name: "Encrypt fails for a new key", length: 10 * time.Minute, steps: []step{
		{at(70), behave(kms.Outage(errors.New("no"), kms.Encrypt))}, {at(75), rotate("kek-2")}, {at(400), behave(kms.Behaviour{})},
	}},
	{name: "only Decrypt fails", length: 5 * time.Minute, steps: []step{{at(70), behave(kms.Outage(errors.New("no"), kms.Decrypt))}}},
	{name: "slow", start: kms.Behaviour{Latency: 700 * time.Millisecond}, length: 5 * time.Minute, steps: []step{{at(65), rotate("kek-2")}}},
	{name: "too slow for a while", length: 9 * time.Minute, steps: []step{{at(65), behave(kms.Behaviour{Latency: 4 * time.Second})}, {at(370), behave(kms.Behaviour{})}}},
}

var changing = regexp.MustCompile(`uid="[^"]*", |\d{4}-\d\d-\d\dT[0-9:]+Z`)

func settled(err error) string {
	if err == nil {
		return "ok"
	}
	return changing.ReplaceAllString(err.Error(), "")
}

// line is what can be seen of a side at a time.
func line(now time.Duration, p *kms.Plugin, wrote error, read, check string) string {
	return fmt.Sprintf("%v: status=%d encrypt=%d decrypt=%d write=%s read=%s check=%s", now,
		p.Calls(kms.Status), p.Calls(kms.Encrypt), p.Calls(kms.Decrypt), settled(wrote), changing.ReplaceAllString(read, ""), check)
}

// times calls see every five seconds, and do for what happens in between.
func times(s script, wait func(until time.Duration), do func(step), see func(now time.Duration)) {
	steps := s.steps
	for now := 2250 * time.Millisecond; now < s.length; now += 5 * time.Second {
		for len(steps) > 0 && steps[0].at < now {
			wait(steps[0].at)
			do(steps[0])
			steps = steps[1:]
		}
		wait(now)
		see(now)
	}
}

func checksAt(s script, now time.Duration) bool {
	return s.checks > 0 && (now/s.checks) != ((now-5*time.Second)/s.checks)
}

const text = "k8s\x00text"

func runModel(t *testing.T, s script, sealed []byte) (out []string) {
	o := newOurs()
	v := kms.NewVault("kek-1")
	p := kms.NewPlugin(v, nil)
	p.Behave(s.start)
	if err := o.sockets.Listen(endpoint("1"), p); err != nil {
		t.Fatal(err)
	}
	ts := o.build(t, forSecrets("k1", "i"))
	defer ts.Close()
	tr := ts.For(secrets)
	began := o.timers.Now()
	o.timers.Advance(ts.Took())
	times(s, func(until time.Duration) { o.timers.Advance(began.Add(until).Sub(o.timers.Now())) }, func(st step) { st.do(p, v) }, func(now time.Duration) {
		_, err := tr.Write(path, []byte(text))
		check := ""
		if checksAt(s, now) {
			_, err := ts.Check()
			check = settled(err)
		}
		out = append(out, line(now, p, err, modelRead(tr, path, sealed), check))
	})
	return out
}

func runReal(t *testing.T, s script, sealed []byte) (out []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		v := kms.NewVault("kek-1")
		p := kms.NewPlugin(v, nil)
		p.Behave(s.start)
		dial{endpoint("1"): p}.use(t)
		began := time.Now()
		c := load(ctx, t, forSecrets("k1", "i"))
		tr := encryptionconfig.StaticTransformers(c.Transformers).TransformerForResource(secrets)
		times(s, func(until time.Duration) {
			time.Sleep(time.Until(began.Add(until)))
			synctest.Wait()
		}, func(st step) { st.do(p, v) }, func(now time.Duration) {
			_, err := tr.TransformToStorage(ctx, []byte(text), value.DefaultContext(path))
			check := ""
			if checksAt(s, now) {
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "/healthz/kms-providers", nil)
				check = settled(c.HealthChecks[0].Check(req))
			}
			out = append(out, line(now, p, err, realRead(tr, path, sealed), check))
		})
		cancel()
		synctest.Wait()
	})
	return out
}

// TestProbes runs what may happen to a plugin on both sides, and compares what can be
// seen every five seconds: how often the plugin was called, whether values can be sealed,
// and what comes of reading one that was sealed by another server at the start.
func TestProbes(t *testing.T) {
	o := newOurs()
	if err := o.sockets.Listen(endpoint("1"), kms.NewPlugin(kms.NewVault("kek-1"), nil)); err != nil {
		t.Fatal(err)
	}
	v, err := o.build(t, forSecrets("k1")).For(secrets).Write(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			model, real := runModel(t, s, v.Bytes()), runReal(t, s, v.Bytes())
			for i := range real {
				if model[i] != real[i] {
					t.Fatalf("the sides part (-real +model):\n%s", cmp.Diff(real[i], model[i]))
				}
			}
		})
	}
}
