package home_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/fakes/files"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
)

func TestNewFetchesTheGrantAndAsksNothingOfTheCluster(t *testing.T) {
	inPod(t, func(l *lab) {
		l.files.Put(grantsDir+"/.grant.tmp", "half a gr")
		h := l.newHome()
		content, ok := l.files.Content(grantName)
		own, held := h.OwnGrant()
		if !ok || !held || string(own) != content || strings.Count(content, ".") != 2 {
			t.Errorf("the grant file is there: %t, held: %t, the same: %t", ok, held, string(own) == content)
		}
		if d := cmp.Diff([]string{grantName}, l.files.Names(grantsDir)); d != "" {
			t.Errorf("files (-want +got):\n%s", d)
		}
		if n := len(l.kube.Calls()); n != 0 {
			t.Errorf("%d calls to the cluster", n)
		}
		if r := l.issuer.Requests(); len(r) != 1 || r[0].URL != issuerURL+"/v1/grant" || r[0].Bearer != bearer {
			t.Errorf("requests %v", r)
		}
	})
}

func TestNewWithoutATokenFileDoesNothing(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		if _, held := h.OwnGrant(); held {
			t.Error("it holds a grant")
		}
		if n := len(l.kube.Calls()) + len(l.issuer.Requests()) + len(l.files.Names(grantsDir)); n != 0 {
			t.Errorf("%d calls, requests and files", n)
		}
	})
}

func TestNewRetriesUntilAGrantComes(t *testing.T) {
	always := func(b issuer.Behaviour) issuer.Behaviour { b.Times = issuer.Always; return b }
	for _, c := range []struct {
		name  string
		bad   issuer.Behaviour
		until time.Duration // when the issuer gets well; zero: never
		want  time.Duration // when New returns
		err   string        // of New; "": none
	}{
		{"it does not know the Pod yet", always(issuer.Behaviour{Status: 403}), 20 * time.Second, 22*time.Second + 500*time.Millisecond, ""},
		{"it is broken", always(issuer.Behaviour{Status: 503}), 0, 60 * time.Second, "503"},
		{"it wants to be left alone for longer", always(issuer.Behaviour{Status: 429, RetryAfter: "3600"}), 12 * time.Second, 15 * time.Second, ""},
		{"it wants to be left alone for a while", issuer.Behaviour{Status: 429, RetryAfter: "3"}, time.Hour, 3 * time.Second, ""},
		{"garbage", issuer.Behaviour{Garbage: true}, time.Hour, 500 * time.Millisecond, ""},
		{"half a token", always(issuer.Behaviour{Truncated: true}), 0, 60 * time.Second, "no grant"},
		{"too much", always(issuer.Behaviour{TooLarge: true}), 0, 60 * time.Second, "larger than 8 KiB"},
		{"another Pod's", always(issuer.Behaviour{WrongUID: true}), 0, 60 * time.Second, "another Pod's"},
		{"expired", always(issuer.Behaviour{Expired: true}), 0, 60 * time.Second, "expired"},
		{"a redirect", always(issuer.Behaviour{Status: 307}), 0, 60 * time.Second, "307"},
		{"slow", issuer.Behaviour{Latency: 9 * time.Second}, 0, 9 * time.Second, ""},
		{"too slow", always(issuer.Behaviour{Latency: 11 * time.Second}), 0, 60 * time.Second, "deadline"},
		{"silent", always(issuer.Behaviour{Hang: true}), 0, 60 * time.Second, "deadline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(l *lab) {
				l.issuer.Behave(c.bad)
				if c.until > 0 {
					l.later(c.until, l.issuer.BehaveWell)
				}
				_, err := home.New(l.ctx, l.cfg)
				if got := l.elapsed(); got != c.want {
					t.Errorf("New took %s, want %s", got, c.want)
				}
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("New: %v, want %q", err, c.err)
				}
				if _, written := l.files.Content(grantName); written != (c.err == "") {
					t.Errorf("a grant was written: %t", written)
				}
				if l.logged(bearer) > 0 {
					t.Error("the log shows the token")
				}
			})
		})
	}
}

func TestNewMakesDoWithAGrantOfThisPodThatIsThere(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(l *lab)
		ok   bool
	}{
		{"its own", func(l *lab) { l.putGrant(grantName, l.uid) }, true},
		{"its own under another name", func(l *lab) { l.putGrant(grantsDir+"/b.jwt", l.uid) }, true},
		{"an earlier Pod's", func(l *lab) { l.putGrant(grantName, "earlier") }, false},
		{"an expired one", func(l *lab) { l.putGrant(grantName, l.uid); l.sleep(lease) }, false},
		{"nothing but a FIFO", func(l *lab) { l.files.PutFIFO(grantName) }, false},
		{"nothing", func(*lab) {}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(l *lab) {
				c.put(l)
				l.issuer.Behave(issuer.Behaviour{Status: 500, Times: issuer.Always})
				h, err := home.New(l.ctx, l.cfg)
				if (err == nil) != c.ok {
					t.Fatalf("New: %v", err)
				}
				if !c.ok {
					return
				}
				if _, held := h.OwnGrant(); !held {
					t.Error("it does not hold the grant")
				}
				l.issuer.BehaveWell()
				asked := len(l.issuer.Requests())
				defer l.run(h)()
				l.sleep(time.Second)
				if got := len(l.issuer.Requests()) - asked; got != 1 {
					t.Errorf("asked %d times in the first second of Run, want once", got)
				}
			})
		})
	}
}

// putGrant puts a genuine grant into a file.
func (l *lab) putGrant(name, uid string) {
	l.Helper()
	token, err := l.issuer.Issue(issuer.Pod{Name: podName, UID: uid})
	if err != nil {
		l.Fatal(err)
	}
	l.files.Put(name, token)
}

func TestNewEndsWithItsContext(t *testing.T) {
	errStop := errors.New("stop it")
	inPod(t, func(l *lab) {
		l.putGrant(grantName, l.uid) // which does not matter
		l.issuer.Behave(issuer.Behaviour{Hang: true, Times: issuer.Always})
		ctx, cancel := context.WithCancelCause(l.ctx)
		l.later(5*time.Second, func() { cancel(errStop) })
		if _, err := home.New(ctx, l.cfg); !errors.Is(err, errStop) {
			t.Errorf("New: %v, want the cause", err)
		}
		if got := l.elapsed(); got > 6*time.Second {
			t.Errorf("New returned after %s", got)
		}
	})
}

func TestRenewalIsDueAtHalfTheLease(t *testing.T) {
	inPod(t, func(l *lab) {
		h := l.newHome()
		first, _ := h.OwnGrant()
		events := l.follow(h)
		defer l.run(h)()
		l.sleep(5*time.Minute - time.Second)
		if n := len(l.issuer.Requests()); n != 1 {
			t.Errorf("%d requests before half the lease", n)
		}
		l.files.Put(tokenFile, "the-next-token")
		l.issuer.Trust("the-next-token", issuer.Pod{Name: podName, UID: l.uid})
		l.sleep(2 * time.Second)
		second, _ := h.OwnGrant()
		if r := l.issuer.Requests(); len(r) != 2 || r[1].Bearer != "the-next-token" || string(first) == string(second) {
			t.Errorf("%d requests; the grant is the same: %t", len(r), string(first) == string(second))
		}
		l.sleep(2 * time.Second)
		if len(*events) != 2 || strings.Contains(strings.Join(*events, ""), "Removed") {
			t.Errorf("events %v", *events)
		}
	})
}

func TestRenewalGoesOnAfterTheGrantHasExpired(t *testing.T) {
	inPod(t, func(l *lab) {
		h := l.newHome()
		defer l.run(h)()
		l.issuer.Behave(issuer.Behaviour{Status: 503, Times: issuer.Always})
		l.sleep(20 * time.Minute)
		if _, there := l.files.Content(grantName); !there {
			t.Error("the file is gone")
		}
		before := len(l.issuer.Requests())
		l.sleep(5 * time.Minute)
		if n := len(l.issuer.Requests()) - before; n != 10 {
			t.Errorf("%d attempts in 5 minutes, want one every 30 s", n)
		}
		if !h.Healthy() || len(*l.losses(h)) > 0 {
			t.Error("the issuer counts for the health or the scope")
		}
		l.issuer.BehaveWell()
		l.sleep(31 * time.Second)
		if n := len(l.issuer.Requests()); l.logged("Cannot renew") >= n {
			t.Errorf("it never succeeded in %d requests", n)
		}
	})
}

// TestJitterKeepsTheBounds: homes that started together are spread, and yet none asks more
// than once a second or sleeps over the end of its lease.
func TestJitterKeepsTheBounds(t *testing.T) {
	for name, factor := range map[string]float64{"early": 0.5, "late": 3} {
		inPod(t, func(l *lab) {
			l.cfg.Jitter = func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
			h := l.newHome()
			defer l.run(h)()
			l.issuer.Behave(issuer.Behaviour{Status: 503, Times: issuer.Always})
			l.sleep(lease + time.Minute)
			requests := l.issuer.Requests()
			end := requests[0].At.Add(lease)
			beforeEnd := 0
			for i, r := range requests[2:] {
				pause := r.At.Sub(requests[i+1].At)
				if pause < time.Second {
					t.Errorf("%s: request %d follows after %s", name, i+2, pause)
				}
				if left := end.Sub(requests[i+1].At); left > 0 && pause > max(left/2, time.Second) {
					t.Errorf("%s: with %s left it sleeps %s", name, left, pause)
				}
				if left := end.Sub(r.At); left > 0 && left < 5*time.Second {
					beforeEnd++
				}
			}
			if beforeEnd == 0 {
				t.Errorf("%s: nobody asked just before the end of the lease: %v", name, requests)
			}
		})
	}
}

func TestAGrantThatNeverExpiresIsFetchedAgain(t *testing.T) {
	inPod(t, func(l *lab) {
		l.issuer.Behave(issuer.Behaviour{NoExpiry: true, Times: issuer.Always})
		h := l.newHome()
		defer l.run(h)()
		l.sleep(16 * time.Minute)
		if n := len(l.issuer.Requests()); n != 4 {
			t.Errorf("%d requests in 16 minutes, want one every 5", n)
		}
	})
}

// TestAStepOfTheClockIsNoticed: a lease is a time on the wall clock.
func TestAStepOfTheClockIsNoticed(t *testing.T) {
	inPod(t, func(l *lab) {
		h := l.newHome()
		defer l.run(h)()
		l.sleep(time.Minute)
		l.stepClock(time.Hour)
		l.sleep(15*time.Second + 100*time.Millisecond)
		if n := len(l.issuer.Requests()); n < 2 {
			t.Errorf("%d requests, a poll after the lease has jumped away", n)
		}
		if !h.Healthy() {
			t.Error("the health follows the wall clock")
		}
	})
}

func TestAFullDiskKeepsTheOldGrant(t *testing.T) {
	inPod(t, func(l *lab) {
		h := l.newHome()
		before, _ := l.files.Content(grantName)
		events := l.follow(h)
		defer l.run(h)()
		l.files.SetSpace(10)
		l.sleep(6 * time.Minute)
		if now, _ := l.files.Content(grantName); now != before {
			t.Error("the grant file has changed")
		}
		if d := cmp.Diff([]string{grantName}, l.files.Names(grantsDir)); d != "" {
			t.Errorf("files (-want +got):\n%s", d)
		}
		if len(*events) != 1 {
			t.Errorf("events %v", *events)
		}
		l.files.SetSpace(-1)
		l.sleep(35 * time.Second)
		if now, _ := l.files.Content(grantName); now == before || len(*events) != 2 {
			t.Errorf("with space again nothing came: events %v", *events)
		}
	})
}

// TestTheGrantFileIsWholeAtAnyTime looks at it before each operation on files, while
// each of them fails once.
func TestTheGrantFileIsWholeAtAnyTime(t *testing.T) {
	inPod(t, func(l *lab) {
		h := l.newHome()
		seen := map[string]bool{}
		l.files.Before = func(string, string) {
			content, there := l.files.Content(grantName)
			if !there || strings.Count(content, ".") != 2 {
				t.Errorf("the grant file is there: %t, and has %d bytes", there, len(content))
			}
			seen[content] = true
		}
		defer l.run(h)()
		for _, op := range []string{"write", "sync", "rename"} {
			l.files.Break(op, grantsDir+"/.grant.tmp", files.ErrIO)
			l.sleep(6 * time.Minute)
			l.files.Mend(op, grantsDir+"/.grant.tmp")
		}
		l.sleep(6 * time.Minute)
		if len(seen) < 2 {
			t.Errorf("saw %d grants", len(seen))
		}
	})
}
