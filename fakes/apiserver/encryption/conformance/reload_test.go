package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig/controller"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// machine is what steps of a reload act on: the file, and the two plugins.
type machine struct {
	file    string // its content; "gone" for none
	plugins map[string]*kms.Plugin
	listen  func(id string, up bool)
}

type reloadStep struct {
	at time.Duration
	do func(m *machine)
}

func content(providers ...string) func(*machine) {
	return func(m *machine) { m.file = forSecrets(providers...) }
}

func plugin(id string, b kms.Behaviour) func(*machine) {
	return func(m *machine) { m.plugins[id].Behave(b) }
}

type reloadScript struct {
	name   string
	start  []string
	steps  []reloadStep
	length time.Duration
}

var reloads = []reloadScript{
	{"a new key", []string{"c11", "i"}, []reloadStep{{at(30), content("c22", "c11", "i")}, {at(90), content("c11", "c22", "i")}}, 5 * time.Minute},
	{"a bad file and its repair", []string{"c11", "i"}, []reloadStep{
		{at(30), func(m *machine) { m.file = "{" }}, {at(200), content("c22", "i")},
	}, 8 * time.Minute},
	{"a bad file for long", []string{"c11", "i"}, []reloadStep{
		{at(30), func(m *machine) { m.file = "{" }}, {at(2000), content("c22", "i")},
	}, 40 * time.Minute},
	{"no file", []string{"c11", "i"}, []reloadStep{{at(30), func(m *machine) { m.file = "gone" }}, {at(100), content("c22", "i")}}, 5 * time.Minute},
	{"an invalid file", []string{"c11", "i"}, []reloadStep{{at(30), content("c11", "k1", "k1")}, {at(100), content("c22", "i")}}, 5 * time.Minute},
	{"a well plugin", []string{"c11", "i"}, []reloadStep{{at(30), content("k1", "c11", "i")}}, 5 * time.Minute},
	{"a plugin that is ill for a while", []string{"c11", "i"}, []reloadStep{
		{at(10), plugin("1", kms.Behaviour{Healthz: "ill"})}, {at(30), content("k1", "c11", "i")}, {at(100), plugin("1", kms.Behaviour{})},
	}, 6 * time.Minute},
	{"a plugin that is well in time", []string{"c11", "i"}, []reloadStep{
		{at(10), plugin("1", kms.Behaviour{Healthz: "ill"})}, {at(30), content("k1", "c11", "i")}, {at(64), plugin("1", kms.Behaviour{})},
	}, 3 * time.Minute},
	{"one of two plugins fails", []string{"k1", "i"}, []reloadStep{
		{at(10), plugin("2", kms.Outage(errors.New("no")))}, {at(30), content("k2", "k1", "i")}, {at(150), content("k1", "i")},
	}, 6 * time.Minute},
	{"a slow plugin", []string{"c11", "i"}, []reloadStep{
		{at(10), plugin("1", kms.Behaviour{Latency: 1300 * time.Millisecond})}, {at(30), content("k1", "c11", "i")},
	}, 4 * time.Minute},
	{"back before it was looked at", []string{"c11", "i"}, []reloadStep{{at(30), content("c22", "i")}, {at(50), content("c11", "i")}}, 3 * time.Minute},
}

func (s reloadScript) run(wait func(until time.Duration), m *machine, see func(now time.Duration)) {
	steps := s.steps
	for now := 250 * time.Millisecond; now < s.length; now += time.Second {
		for len(steps) > 0 && steps[0].at < now {
			wait(steps[0].at)
			steps[0].do(m)
			steps = steps[1:]
		}
		wait(now)
		see(now)
	}
}

// sealer names the provider of what was just sealed.
func sealer(data []byte, err error) string {
	if err != nil {
		return settled(err)
	}
	by := encryption.Parse(data).SealedBy()
	return strings.ReplaceAll(by.String(), " ", "")
}

func reloadModel(t *testing.T, s reloadScript) (out []seen) {
	o := newOurs()
	m := &machine{file: forSecrets(s.start...), plugins: map[string]*kms.Plugin{}}
	m.listen = func(id string, up bool) {
		if o.sockets.Close(endpoint(id)); up {
			_ = o.sockets.Listen(endpoint(id), m.plugins[id])
		}
	}
	for _, id := range []string{"1", "2"} {
		m.plugins[id] = kms.NewPlugin(kms.NewVault("kek-"+id), nil)
		m.listen(id, true)
	}
	l, err := encryption.Start(encryption.Options{Surroundings: o.surroundings(), Reload: true, File: func() ([]byte, error) {
		if m.file == "gone" {
			return nil, os.ErrNotExist
		}
		return []byte(m.file), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := o.timers.Now()
	s.run(func(until time.Duration) { o.timers.Advance(began.Add(until).Sub(o.timers.Now())) }, m, func(now time.Duration) {
		v, err := l.Transformers().For(secrets).Write(path, []byte(text))
		data := []byte(text)
		if v != nil {
			data = v.Bytes()
		}
		out = append(out, m.look(now, data, err))
	})
	return out
}

func reloadReal(t *testing.T, s reloadScript) (out []seen) {
	name := write(t, "", forSecrets(s.start...))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		d := dial{}
		m := &machine{file: forSecrets(s.start...), plugins: map[string]*kms.Plugin{}}
		m.listen = func(id string, up bool) {
			if delete(d, endpoint(id)); up {
				d[endpoint(id)] = m.plugins[id]
			}
		}
		for _, id := range []string{"1", "2"} {
			m.plugins[id] = kms.NewPlugin(kms.NewVault("kek-"+id), nil)
			m.listen(id, true)
		}
		d.use(t)
		began := time.Now()
		loading, closeLoaded := context.WithCancel(ctx)
		c, err := encryptionconfig.LoadEncryptionConfig(loading, name, true, "id")
		if err != nil {
			t.Fatal(err)
		}
		dynamic := encryptionconfig.NewDynamicTransformers(c.Transformers, c.HealthChecks[0], closeLoaded, c.KMSCloseGracePeriod)
		ctrl := controller.NewDynamicEncryptionConfiguration("reload", name, dynamic, c.EncryptionFileContentHash, "id")
		go ctrl.Run(ctx)
		tr := dynamic.TransformerForResource(secrets)
		before := m.file
		s.run(func(until time.Duration) {
			if m.file != before {
				if before = m.file; before == "gone" {
					_ = os.Remove(name)
				} else {
					write(t, name, before)
				}
			}
			time.Sleep(time.Until(began.Add(until)))
			synctest.Wait()
		}, m, func(now time.Duration) {
			data, err := tr.TransformToStorage(ctx, []byte(text), value.DefaultContext(path))
			out = append(out, m.look(now, data, err))
		})
		cancel()
		time.Sleep(time.Minute) // old transformers are closed after a while
		synctest.Wait()
	})
	return out
}

// seen is what can be seen of a side at a time.
type seen struct {
	sealer string
	status [2]int // calls to each plugin
}

func (m *machine) look(now time.Duration, data []byte, err error) seen {
	return seen{fmt.Sprintf("%v: %s", now, sealer(data, err)), [2]int{m.plugins["1"].Calls(kms.Status), m.plugins["2"].Calls(kms.Status)}}
}

// TestReload runs what may happen to the file and to plugins on both sides, and compares
// each second by what values are sealed.
func TestReload(t *testing.T) {
	for _, s := range reloads {
		t.Run(s.name, func(t *testing.T) {
			model, real := reloadModel(t, s), reloadReal(t, s)
			for i := range real {
				if model[i].sealer != real[i].sealer {
					t.Fatalf("the sides part (-real +model):\n%s", cmp.Diff(real[i].sealer, model[i].sealer))
				}
				for p := range real[i].status {
					// In the real one, timers of one instant race.
					if d := model[i].status[p] - real[i].status[p]; max(d, -d) > 2+real[i].status[p]/5 {
						t.Fatalf("%s: plugin %d was asked %d times by the real one, %d times by the model", real[i].sealer, p+1, real[i].status[p], model[i].status[p])
					}
				}
			}
		})
	}
}
