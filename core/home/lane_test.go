package home_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/fakes/files"
)

// short is a token of few bytes with an id.
func short(uid string) string {
	return "a." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"jti":%q}`, uid)) + ".c"
}

func TestLane(t *testing.T) {
	const dir = grantsDir + "/"
	type step struct {
		at time.Duration
		do func(f *files.Files)
	}
	put := func(name, content string) func(*files.Files) {
		return func(f *files.Files) { f.Put(dir+name, content) }
	}
	del := func(name string) func(*files.Files) { return func(f *files.Files) { f.Delete(dir + name) } }
	first, second := short("a"), short("b")
	added := func(at, token string) string { return at + " GrantAdded " + token }
	for _, c := range []struct {
		name  string
		steps []step
		want  []string
	}{
		{"one comes and goes", []step{{0, put("a.jwt", first)}, {5 * time.Second, del("a.jwt")}},
			[]string{added("0s", first), "6s GrantRemoved a"}},
		{"in the order of names", []step{{0, put("b.jwt", "bbb")}, {0, put("a.jwt", "aaa")}},
			[]string{"0s GrantAdded aaa", "0s GrantAdded bbb"}},
		{"it changes, with as many bytes", []step{{0, put("a.jwt", "aaa")}, {time.Second, put("a.jwt", "bbb")}},
			[]string{"0s GrantAdded aaa", "2s GrantAdded bbb"}},
		{"it is written again, the same", []step{{0, put("a.jwt", "aaa")}, {time.Second, put("a.jwt", "aaa")}},
			[]string{"0s GrantAdded aaa"}},
		{"another kind of file", []step{{0, put("a.tmp", "aaa")}, {0, put("jwt", "bbb")}}, nil},
		{"a FIFO", []step{{0, func(f *files.Files) { f.PutFIFO(dir + "a.jwt") }}}, nil},
		{"a link that leads elsewhere later", []step{
			{0, func(f *files.Files) {
				f.Put(dir+"..1/a", "aaa")
				f.Put(dir+"..2/a", "bbb")
				f.Link(dir+"a.jwt", dir+"..1/a")
			}},
			{time.Second, func(f *files.Files) { f.Link(dir+"a.jwt", dir+"..2/a") }},
		}, []string{"0s GrantAdded aaa", "2s GrantAdded bbb"}},
		{"a link to nothing", []step{{0, func(f *files.Files) { f.Link(dir+"a.jwt", dir+"..1/a") }}}, nil},
		{"garbage goes without a word", []step{{0, put("a.jwt", "aaa")}, {time.Second, del("a.jwt")}},
			[]string{"0s GrantAdded aaa"}},
		{"another name for the file", []step{{0, put("a.jwt", first)}, {time.Second, func(f *files.Files) {
			f.Delete(dir + "a.jwt")
			f.Put(dir+"b.jwt", first)
		}}}, []string{added("0s", first), added("2s", first)}},
		{"two files for one grant, and then one", []step{
			{0, put("a.jwt", first)}, {0, put("b.jwt", first)}, {time.Second, del("a.jwt")}, {5 * time.Second, del("b.jwt")},
		}, []string{added("0s", first), added("0s", first), "6s GrantRemoved a"}},
		{"additions before removals", []step{{0, put("z.jwt", first)}, {time.Second, func(f *files.Files) {
			f.Delete(dir + "z.jwt")
			f.Put(dir+"zz.jwt", second)
		}}}, []string{added("0s", first), added("2s", second), "2s GrantRemoved a"}},
		{"a file that becomes another grant", []step{{0, put("a.jwt", first)}, {time.Second, put("a.jwt", second)}},
			[]string{added("0s", first), added("2s", second)}},
		{"a directory that cannot be read for a while", []step{
			{0, put("a.jwt", first)},
			{time.Second, func(f *files.Files) { f.Break("list", grantsDir, files.ErrIO); f.Delete(dir + "a.jwt") }},
			{7 * time.Second, func(f *files.Files) { f.Put(dir+"a.jwt", first); f.Mend("list", grantsDir) }},
		}, []string{added("0s", first)}},
		{"a file that cannot be read for a while", []step{
			{0, put("a.jwt", first)},
			{time.Second, func(f *files.Files) { f.Break("read", dir+"a.jwt", files.ErrIO) }},
			{7 * time.Second, func(f *files.Files) { f.Mend("read", dir+"a.jwt"); f.Put(dir+"a.jwt", "new") }},
		}, []string{added("0s", first), "8s GrantAdded new"}},
		{"more than any grant has", []step{{0, put("a.jwt", string(make([]byte, 100<<10)))}}, []string{"0s GrantAdded 8193 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(l *lab) {
				l.withoutFetch()
				for _, s := range c.steps {
					if s.at == 0 {
						s.do(l.files)
					} else {
						l.later(s.at, func() { s.do(l.files) })
					}
				}
				events := l.follow(l.newHome())
				l.sleep(time.Minute)
				if d := cmp.Diff(c.want, *events); d != "" {
					t.Errorf("events (-want +got):\n%s", d)
				}
			})
		})
	}
}

// TestALaneShowsEveryFileAtAnyMoment: a file that is replaced between two looks at it is
// seen as it was or as it is, and never as gone.
func TestALaneShowsEveryFileAtAnyMoment(t *testing.T) {
	for _, op := range []string{"stat", "read"} {
		inPod(t, func(l *lab) {
			l.withoutFetch()
			l.files.Put(grantName, short("a"))
			turns := 0
			l.files.Before = func(o, _ string) {
				if o == op && turns < 3 {
					turns++
					l.files.Put(grantName, short(fmt.Sprint("a", turns)))
				}
			}
			events := l.follow(l.newHome())
			l.sleep(20 * time.Second)
			if len(*events) != 3 {
				t.Errorf("replaced before %s: %v", op, *events)
			}
		})
	}
}

func TestALaneEndsWithItsContext(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		for i := range 40 { // more than wait
			l.files.Put(fmt.Sprintf("%s/%02d.jwt", grantsDir, i), fmt.Sprint(i))
		}
		ctx, cancel := l.clock.WithCancel(l.ctx)
		lane, err := l.newHome().Grants(ctx)
		if err != nil {
			t.Fatal(err)
		}
		l.sleep(10 * time.Second)
		for i := range 20 {
			if ev, err := lane.Next(l.ctx); err != nil || string(ev.Token.Reveal()) != fmt.Sprint(i) {
				t.Errorf("event %d: %v", i, err)
			}
		}
		cancel()
		l.sleep(10 * time.Second)
		n := 0
		for {
			if _, err = lane.Next(l.ctx); err != nil {
				break
			}
			n++
		}
		if !errors.Is(err, home.ErrLaneClosed) || n > 16 {
			t.Errorf("%d more events, then %v", n, err)
		}
		ended, cancel := l.clock.WithCancel(l.ctx)
		cancel()
		if lane, err = l.newHome().Grants(l.ctx); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = lane.Next(ended)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Next with a context that has ended: %v", err)
		}
	})
}

func TestWithoutADirectoryThereIsNoLane(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		l.cfg.GrantsDir = ""
		if lane, err := l.newHome().Grants(l.ctx); lane != nil || err != nil {
			t.Errorf("lane %v, error %v", lane, err)
		}
	})
}
