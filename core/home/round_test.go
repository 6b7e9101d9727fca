package home_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/fakes/grantpod"
)

// withClaim gives the Pod a claim made from a template, and one that is to be made.
func (l *lab) withClaim() {
	l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{
			{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}, {Name: "later", ResourceClaimTemplateName: ptr.To("later")},
		}
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("gpu-x7")}}
	})
	l.kube.PutClaim(namespace, "gpu-x7", "")
}

// TestScopeIsLostOnEvidenceOnly runs a home, lets something happen after 20 seconds, and
// looks at the losses. Rounds are at 0, 15, 30, 45 s and so on.
func TestScopeIsLostOnEvidenceOnly(t *testing.T) {
	fail := func(verb grantpod.Verb, f grantpod.Fault) func(*lab) {
		return func(l *lab) { l.kube.Fail(verb, f) }
	}
	const unserved = "cluster serves no resource claims"
	for _, c := range []struct {
		name string
		do   func(l *lab)
		then func(l *lab) // 60 s after that
		want []string
	}{
		{"nothing", func(*lab) {}, nil, nil},
		{"the Pod is gone", func(l *lab) { l.kube.RemovePod(namespace, podName) }, nil, []string{"30s pod tenant/grant-0 gone"}},
		{"the Pod is gone for one answer, and then for good", fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.Status(404)}),
			func(l *lab) { l.kube.RemovePod(namespace, podName) }, []string{"30s pod tenant/grant-0 gone"}},
		{"the Pod ends, and is gone", func(l *lab) { l.kube.DeletePod(namespace, podName) },
			func(l *lab) { l.kube.RemovePod(namespace, podName) },
			[]string{"30s pod tenant/grant-0 terminating", "1m30s pod tenant/grant-0 gone"}},
		{"another Pod has its name", func(l *lab) { l.kube.ReplacePod(namespace, podName) }, nil, []string{"30s pod tenant/grant-0 replaced"}},
		{"the Pod has failed", func(l *lab) {
			l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		}, nil, nil},
		{"the namespace ends", func(l *lab) {
			l.kube.Fail(grantpod.GetNamespace, grantpod.Fault{Err: grantpod.Status(403)})
			l.kube.TerminateNamespace(namespace)
			l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) { p.DeletionTimestamp = nil })
		}, nil, []string{"45s namespace tenant terminating"}},
		{"the namespace is gone", fail(grantpod.GetNamespace, grantpod.Fault{Err: grantpod.Status(404)}), nil, []string{"30s namespace tenant gone"}},
		{"nobody may read the namespace", func(l *lab) {
			l.kube.Fail(grantpod.GetNamespace, grantpod.Fault{Err: grantpod.Status(403), Times: grantpod.Always})
			l.kube.DeleteClaim(namespace, "gpu-x7")
		}, nil, []string{"30s resource claim gpu-x7 being deleted"}},
		{"a claim is deleted, and let go", func(l *lab) { l.kube.DeleteClaim(namespace, "gpu-x7") },
			func(l *lab) { l.kube.ReleaseClaim(namespace, "gpu-x7") },
			[]string{"30s resource claim gpu-x7 being deleted", "1m30s resource claim gpu-x7 gone"}},
		{"another claim has its name", func(l *lab) { l.kube.PutClaim(namespace, "gpu-x7", "") }, nil, []string{"30s resource claim gpu-x7 replaced"}},
		{"the Pod goes between the reads, and its claim with it", func(l *lab) {
			l.kube.PutClaim(namespace, "gpu-x7", "")
			l.kube.Before = func(c grantpod.Call) {
				if c.Verb == grantpod.GetResourceClaim {
					l.kube.RemovePod(namespace, podName)
					l.kube.DeleteClaim(namespace, "gpu-x7")
					l.kube.ReleaseClaim(namespace, "gpu-x7")
				}
			}
		}, nil, []string{"30s pod tenant/grant-0 gone"}},
		{"an answer from before the deletion, and then the truth", func(l *lab) {
			l.kube.DeletePod(namespace, podName)
			l.kube.ServeStale(1)
		}, nil, []string{"45s pod tenant/grant-0 terminating"}},
		{"another claim fails", func(l *lab) {
			l.kube.Fail(grantpod.GetResourceClaim, grantpod.Fault{Name: "gpu-x7", Err: grantpod.Status(500)})
			l.kube.DeleteClaim(namespace, "gpu-x7")
		}, nil, []string{"45s resource claim gpu-x7 being deleted"}},
		{"refused", fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.ErrRefused, Times: grantpod.Always}), nil, nil},
		{"401", fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.Status(401), Times: grantpod.Always}), nil, nil},
		{"403", fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.Status(403), Times: grantpod.Always}), nil, nil},
		{"429", fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.Status(429), Times: grantpod.Always}), nil, nil},
		{"500", fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.Status(500), Times: grantpod.Always}), nil, nil},
		{"silence", fail(grantpod.GetPod, grantpod.Fault{Hang: true, Times: grantpod.Always}), nil, nil},
		{"a server that does not know the path", func(l *lab) {
			for _, verb := range []grantpod.Verb{grantpod.GetPod, grantpod.GetNamespace, grantpod.GetResourceClaim} {
				l.kube.Fail(verb, grantpod.Fault{Err: grantpod.UnknownPath(), Times: grantpod.Always})
			}
		}, nil, nil},
		{"claims are not served for 20 s", func(l *lab) {
			l.kube.ServeClaims(false)
			l.later(20*time.Second, func() { l.kube.ServeClaims(true) })
		}, nil, nil},
		{"claims are not served any more", func(l *lab) { l.kube.ServeClaims(false) }, nil, []string{"1m0s " + unserved}},
		{"claims are not served twice, with one answer between", func(l *lab) {
			l.kube.ServeClaims(false)
			l.later(20*time.Second, func() { l.kube.ServeClaims(true) })
			l.later(27*time.Second, func() { l.kube.ServeClaims(false) })
			l.later(50*time.Second, func() { l.kube.ServeClaims(true) })
		}, nil, nil},
		{"other errors neither start nor clear", func(l *lab) {
			l.kube.ServeClaims(false) // seen at 30 s and at 60 s
			l.later(15*time.Second, func() { l.kube.Fail(grantpod.GetResourceClaim, grantpod.Fault{Err: grantpod.Status(500)}) })
		}, nil, []string{"1m0s " + unserved}},
		{"a long outage, and the first answer after it is that there are no claims", func(l *lab) {
			l.kube.Fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.ErrRefused, Times: grantpod.Always})
			l.later(50*time.Second, func() { l.kube.ServeClaims(false); l.kube.Heal() })
			l.later(60*time.Second, func() { l.kube.ServeClaims(true) })
		}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(l *lab) {
				l.withoutFetch()
				l.withClaim()
				h := l.newHome()
				losses := l.losses(h)
				defer l.run(h)()
				l.sleep(20 * time.Second)
				c.do(l)
				l.sleep(60 * time.Second)
				if c.then != nil {
					c.then(l)
				}
				l.sleep(2 * time.Minute)
				if d := cmp.Diff(c.want, *losses); d != "" {
					t.Errorf("losses (-want +got):\n%s", d)
				}
			})
		})
	}
}

// TestAPodWithoutClaimsNeverAsksForAny, so that a cluster without them is none of its
// business.
func TestAPodWithoutClaimsNeverAsksForAny(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		l.kube.ServeClaims(false)
		h := l.newHome()
		losses := l.losses(h)
		defer l.run(h)()
		l.sleep(10 * time.Minute)
		if n := l.calls(grantpod.GetResourceClaim); n > 0 || len(*losses) > 0 {
			t.Errorf("%d calls, losses %v", n, *losses)
		}
	})
}

func TestHealthFollowsTheAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault grantpod.Fault
		from  time.Duration
		until time.Duration
		bad   string // when it is unhealthy, in whole seconds
	}{
		{"no round falls into the outage", grantpod.Fault{Err: grantpod.ErrRefused, Times: grantpod.Always}, 16 * time.Second, 26 * time.Second, ""},
		{"five minutes", grantpod.Fault{Err: grantpod.ErrRefused, Times: grantpod.Always}, 16 * time.Second, 316 * time.Second, "45-329"},
		{"five minutes of silence", grantpod.Fault{Hang: true, Times: grantpod.Always}, 16 * time.Second, 316 * time.Second, "45-329"},
		{"one round", grantpod.Fault{Err: grantpod.Status(500)}, 16 * time.Second, 40 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(l *lab) {
				l.withoutFetch()
				h := l.newHome()
				losses := l.losses(h)
				defer l.run(h)()
				l.later(c.from, func() { l.kube.Fail(grantpod.GetPod, c.fault) })
				l.later(c.until, l.kube.Heal)
				first, last := time.Duration(-1), time.Duration(-1)
				l.sleep(500 * time.Millisecond)
				for l.elapsed() < 10*time.Minute {
					if !h.Healthy() {
						if first < 0 {
							first = l.elapsed().Truncate(time.Second)
						}
						last = l.elapsed().Truncate(time.Second)
					}
					l.sleep(time.Second)
				}
				got := ""
				if first >= 0 {
					got = fmt.Sprintf("%.0f-%.0f", first.Seconds(), last.Seconds())
				}
				if got != c.bad || len(*losses) > 0 {
					t.Errorf("unhealthy %q, want %q; losses %v", got, c.bad, *losses)
				}
			})
		})
	}
}

// TestRoundsKeepTheirTicks: a round that takes its whole time is followed by one at
// once, and the ticks go on as before.
func TestRoundsKeepTheirTicks(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		defer l.run(l.newHome())()
		l.later(16*time.Second, func() { l.kube.Fail(grantpod.GetPod, grantpod.Fault{Hang: true}) })
		l.later(46*time.Second, func() { l.kube.Fail(grantpod.GetPod, grantpod.Fault{Latency: 4 * time.Second}) })
		l.sleep(95 * time.Second)
		var got []string
		for _, c := range l.kube.Calls() {
			if c.Verb == grantpod.GetPod {
				got = append(got, fmt.Sprintf("%.0f+%.0f", l.at(c.At).Seconds(), c.Deadline.Sub(c.At).Seconds()))
			}
		}
		if d := cmp.Diff([]string{"0+15", "15+15", "30+15", "45+15", "60+15", "75+15", "90+15"}, got); d != "" {
			t.Errorf("calls at second + time that they had (-want +got):\n%s", d)
		}
	})
}

// at is the time since the body began.
func (l *lab) at(t time.Time) time.Duration { return l.elapsed() - l.clock.Since(t) }

// TestTheWallClockDoesNotCountForTheHealth: neither does a step forward make a living
// server look dead, nor one back a dead server alive.
func TestTheWallClockDoesNotCountForTheHealth(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		defer l.run(h)()
		l.sleep(20 * time.Second)
		l.stepClock(time.Hour)
		if !h.Healthy() {
			t.Error("unhealthy after a step forward")
		}
		l.kube.Fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.ErrRefused, Times: grantpod.Always})
		l.sleep(time.Minute)
		l.stepClock(-time.Hour)
		if h.Healthy() {
			t.Error("healthy after a step back, though nobody has answered")
		}
	})
}

func TestAPausedHomeMarksNothing(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		defer l.run(h)()
		l.sleep(20 * time.Second)
		// A round holds an answer when the override comes.
		l.kube.Fail(grantpod.GetPod, grantpod.Fault{Latency: 5 * time.Second})
		l.sleep(12 * time.Second)
		h.SetIssuerReachable(false)
		if h.Healthy() {
			t.Error("healthy though the server counts as unreachable")
		}
		asked := len(l.kube.Calls())
		for range 300 {
			l.sleep(time.Second)
			if h.Healthy() {
				t.Fatalf("healthy at %s", l.elapsed())
			}
		}
		if n := l.calls(grantpod.GetPod); n > asked+1 {
			t.Errorf("%d calls while paused", n-asked)
		}
		h.SetIssuerReachable(true)
		if !h.Healthy() {
			t.Error("unhealthy though the server counts as reachable again")
		}
		l.sleep(time.Minute)
		if !h.Healthy() {
			t.Error("the polls have not gone on")
		}
	})
}

func TestLossesAreDeliveredOneByOne(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		var got []string
		h.OnScopeLost(func(ctx context.Context, reason string) {
			got = append(got, "begin "+reason)
			_ = l.clock.Sleep(ctx, 2*time.Minute)
			got = append(got, "end "+reason)
		})
		stop := l.run(h)
		l.sleep(time.Second)
		l.kube.DeletePod(namespace, podName)
		l.sleep(20 * time.Second)
		l.kube.RemovePod(namespace, podName)
		l.sleep(60 * time.Second)
		if d := cmp.Diff([]string{"begin pod tenant/grant-0 terminating"}, got); d != "" {
			t.Errorf("while the first handler works (-want +got):\n%s", d)
		}
		if n := l.calls(grantpod.GetPod); n != 6 {
			t.Errorf("%d rounds meanwhile, want 6", n)
		}
		l.sleep(60 * time.Second)
		stop() // ends the second handler, and waits for it
		if d := cmp.Diff([]string{
			"begin pod tenant/grant-0 terminating", "end pod tenant/grant-0 terminating",
			"begin pod tenant/grant-0 gone", "end pod tenant/grant-0 gone",
		}, got); d != "" {
			t.Errorf("in the end (-want +got):\n%s", d)
		}
	})
}

func TestALossFoundBeforeRunIsDeliveredByRun(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		l.kube.ReplacePod(namespace, podName)
		h := l.newHome()
		losses := l.losses(h)
		if _, _, err := h.Devices(l.ctx, grant.Grant{}); err != nil {
			t.Error(err)
		}
		l.sleep(time.Minute)
		if len(*losses) > 0 {
			t.Errorf("losses before Run: %v", *losses)
		}
		defer l.run(h)()
		l.sleep(time.Second)
		if d := cmp.Diff([]string{"1m0s pod tenant/grant-0 replaced"}, *losses); d != "" {
			t.Errorf("losses (-want +got):\n%s", d)
		}
	})
}

func TestRunRunsOnce(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		h.Close()
		h.Close()
		stop := l.run(h)
		l.sleep(time.Second)
		h.Run(l.ctx) // returns at once
		if l.elapsed() != time.Second || l.logged("runs once only") != 1 {
			t.Errorf("the second Run returned at %s and said so %d times", l.elapsed(), l.logged("runs once only"))
		}
		stop()
		h.Run(l.ctx)
		if n := l.calls(grantpod.GetPod); n != 1 {
			t.Errorf("%d rounds", n)
		}
	})
}
