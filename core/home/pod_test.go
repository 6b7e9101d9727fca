package home_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/fakes/grantpod"
)

func TestScopeIsWhatThePodIs(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		l.withClaim()
		h := l.newHome()
		known := []home.ScopeClaim{{"namespace", namespace}, {"pod", podName}, {"pod_uid", l.uid}}
		if d := cmp.Diff(known, h.Scope()); d != "" {
			t.Errorf("before the Pod is read (-want +got):\n%s", d)
		}
		defer l.run(h)()
		l.sleep(time.Second)
		all := append(known, home.ScopeClaim{"service_account", "fiberd"}, home.ScopeClaim{"node", "node-1"}, home.ScopeClaim{"resource_claim", "gpu-x7"})
		if d := cmp.Diff(all, h.Scope()); d != "" {
			t.Errorf("after a round (-want +got):\n%s", d)
		}
		l.kube.ReplacePod(namespace, podName)
		l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) { p.Spec.NodeName = "node-2" })
		l.sleep(time.Minute)
		if d := cmp.Diff(all, h.Scope()); d != "" {
			t.Errorf("after another Pod has its name (-want +got):\n%s", d)
		}
	})
}

func TestDevicesNeverFail(t *testing.T) {
	for _, c := range []struct {
		name    string
		claim   bool
		devices []string
		outage  bool
		want    home.DeviceChannel
	}{
		{"a claim", true, []string{"/dev/x"}, false, home.DeviceChannel{Kind: "dra", Detail: "gpu-x7", Devices: []string{"/dev/x"}}},
		{"devices only", false, []string{"/dev/x"}, false, home.DeviceChannel{Kind: "static", Devices: []string{"/dev/x"}}},
		{"nothing", false, nil, false, home.DeviceChannel{}},
		{"a claim that cannot be known", true, []string{"/dev/x"}, true, home.DeviceChannel{Kind: "static", Devices: []string{"/dev/x"}}},
		{"nothing that can be known", true, nil, true, home.DeviceChannel{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(l *lab) {
				l.withoutFetch()
				if c.claim {
					l.withClaim()
				}
				l.cfg.Devices = c.devices
				if c.outage {
					l.kube.Fail(grantpod.GetPod, grantpod.Fault{Hang: true})
				}
				got, release, err := l.newHome().Devices(l.ctx, grant.Grant{})
				if err != nil || release == nil {
					t.Fatalf("Devices: %v", err)
				}
				release()
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("channel (-want +got):\n%s", d)
				}
				if len(got.Devices) > 0 {
					got.Devices[0] = "changed"
					if c.devices[0] != "/dev/x" {
						t.Error("the devices are not a copy")
					}
				}
			})
		})
	}
}

func TestEndpointHost(t *testing.T) {
	noAddress := func(l *lab) {
		l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) { p.Status.PodIP, p.Status.PodIPs = "", nil })
	}
	for _, c := range []struct {
		name   string
		family home.Family
		do     func(l *lab, h *home.Home)
		want   string
		after  time.Duration
		calls  int
	}{
		{"unix has none", home.Unix, nil, "", 0, 0},
		{"IPv4", home.Inet4, nil, "10.0.0.7", 0, 1},
		{"IPv6", home.Inet6, nil, "fd00::7", 0, 1},
		{"podIP alone", home.Inet4, func(l *lab, _ *home.Home) {
			l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) { p.Status.PodIPs = nil })
		}, "10.0.0.7", 0, 1},
		{"what is no address is skipped", home.Inet4, func(l *lab, _ *home.Home) {
			l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0."}, {IP: "10.0.0.9"}} })
		}, "10.0.0.9", 0, 1},
		{"the kubelet has not written it yet", home.Inet4, func(l *lab, _ *home.Home) {
			noAddress(l)
			l.later(1800*time.Millisecond, func() {
				l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.8" })
			})
		}, "10.0.0.8", 2 * time.Second, 5},
		{"there is none of that family", home.Inet6, func(l *lab, _ *home.Home) {
			l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) { p.Status.PodIPs = p.Status.PodIPs[:1] })
		}, "", 90 * time.Second, 181},
		{"nobody answers", home.Inet4, func(l *lab, _ *home.Home) {
			l.kube.Fail(grantpod.GetPod, grantpod.Fault{Err: grantpod.ErrRefused, Times: grantpod.Always})
		}, "", 90 * time.Second, 181},
		{"an answer never comes, and the next does", home.Inet4, func(l *lab, _ *home.Home) {
			l.kube.Fail(grantpod.GetPod, grantpod.Fault{Hang: true})
		}, "10.0.0.7", 15*time.Second + 500*time.Millisecond, 2},
		{"no answer ever comes", home.Inet4, func(l *lab, _ *home.Home) {
			l.kube.Fail(grantpod.GetPod, grantpod.Fault{Hang: true, Times: grantpod.Always})
		}, "", 90 * time.Second, 6},
		{"it is closed meanwhile", home.Inet4, func(l *lab, h *home.Home) {
			noAddress(l)
			l.later(3200*time.Millisecond, h.Close)
		}, "", 3200 * time.Millisecond, 7},
		{"it is closed already", home.Inet4, func(_ *lab, h *home.Home) { h.Close() }, "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(l *lab) {
				l.withoutFetch()
				l.cfg.Family = c.family
				h := l.newHome()
				if c.do != nil {
					c.do(l, h)
				}
				got := h.EndpointHost()
				if got != c.want || l.elapsed() != c.after || l.calls(grantpod.GetPod) != c.calls {
					t.Errorf("%q after %s and %d reads, want %q after %s and %d", got, l.elapsed(), l.calls(grantpod.GetPod), c.want, c.after, c.calls)
				}
				if n := l.logged("has no address"); n > 1 || (n == 1) != (c.after == 90*time.Second) {
					t.Errorf("logged %d times that there is none", n)
				}
			})
		})
	}
}

func TestReadinessIsAConditionOfThePod(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		for _, step := range []struct {
			uid   string
			ready bool
			want  string
			calls int
		}{
			{"a", false, "", 0}, // never warm
			{"a", true, "True TemplateWarm", 1},
			{"a", true, "True TemplateWarm", 1},
			{"b", true, "True TemplateWarm", 1},
			{"a", false, "True TemplateWarm", 1},
			{"b", false, "False NoWarmTemplate", 2},
			{"b", true, "True TemplateWarm", 3},
		} {
			if err := h.PublishReady(l.ctx, step.uid, step.ready); err != nil {
				t.Errorf("%s is %t: %v", step.uid, step.ready, err)
			}
			if got, n := l.condition(), l.calls(grantpod.PatchPodStatus); got != step.want || n != step.calls {
				t.Errorf("%s is %t: the condition is %q after %d patches, want %q after %d", step.uid, step.ready, got, n, step.want, step.calls)
			}
		}
		if !h.Ready() || len(l.kube.Pod(namespace, podName).Status.Conditions) != 2 {
			t.Error("the kubelet's own condition is gone")
		}
	})
}

func TestReadinessConvergesAfterFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault grantpod.Fault
	}{
		{"refused", grantpod.Fault{Err: grantpod.ErrRefused}},
		{"forbidden", grantpod.Fault{Err: grantpod.Status(403)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inPod(t, func(l *lab) {
				l.withoutFetch()
				h := l.newHome()
				defer l.run(h)()
				l.sleep(time.Second)
				l.kube.Fail(grantpod.PatchPodStatus, c.fault)
				if err := h.PublishReady(l.ctx, "a", true); err == nil {
					t.Error("PublishReady does not tell of the failure")
				}
				l.sleep(15 * time.Second)
				if got := l.condition(); got != "True TemplateWarm" {
					t.Errorf("a round later the condition is %q", got)
				}
			})
		})
	}
}

// TestAPatchThatWasAppliedAndNotAnswered may take effect at once or late: the condition
// is right in the end.
func TestAPatchThatWasAppliedAndNotAnswered(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		defer l.run(h)()
		l.sleep(time.Second)
		if err := h.PublishReady(l.ctx, "a", true); err != nil {
			t.Fatal(err)
		}
		var lost []byte
		l.kube.Before = func(c grantpod.Call) { lost = c.Patch }
		l.kube.Fail(grantpod.PatchPodStatus, grantpod.Fault{Err: grantpod.ErrRefused})
		if err := h.PublishReady(l.ctx, "a", false); err == nil {
			t.Error("the patch did not fail")
		}
		for _, c := range l.kube.Calls() {
			if c.Verb == grantpod.PatchPodStatus {
				lost = c.Patch
			}
		}
		l.kube.Before = nil
		if err := h.PublishReady(l.ctx, "b", true); err != nil { // as it is published
			t.Error(err)
		}
		if err := l.kube.PatchPodStatus(l.ctx, namespace, podName, lost); err != nil {
			t.Error(err)
		}
		l.sleep(31 * time.Second)
		if got := l.condition(); got != "True TemplateWarm" {
			t.Errorf("two rounds later the condition is %q", got)
		}
	})
}

func TestARoundDuringAPatchDoesNotRepeatIt(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		defer l.run(h)()
		l.sleep(10 * time.Second)
		l.kube.Fail(grantpod.PatchPodStatus, grantpod.Fault{Latency: 10 * time.Second})
		if err := h.PublishReady(l.ctx, "a", true); err != nil {
			t.Error(err)
		}
		l.sleep(time.Minute)
		if got, n := l.condition(), l.calls(grantpod.PatchPodStatus); got != "True TemplateWarm" || n != 1 {
			t.Errorf("the condition is %q after %d patches", got, n)
		}
	})
}

func TestReadinessOfAContainerBeforeIsTakenBack(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		l.kube.UpdatePod(namespace, podName, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: home.PodConditionZygoteReady, Status: corev1.ConditionTrue, Reason: home.ReasonTemplateWarm, LastTransitionTime: metav1.Now(),
			})
		})
		h := l.newHome()
		defer l.run(h)()
		l.sleep(time.Second)
		if got := l.condition(); got != "False NoWarmTemplate" {
			t.Errorf("after the first round the condition is %q", got)
		}
		if err := h.PublishReady(l.ctx, "a", true); err != nil {
			t.Error(err)
		}
		if got, n := l.condition(), l.calls(grantpod.PatchPodStatus); got != "True TemplateWarm" || n != 2 {
			t.Errorf("the condition is %q after %d patches", got, n)
		}
	})
}

func TestReadinessOfAnotherPodIsNotTouched(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		defer l.run(h)()
		l.sleep(time.Second)
		l.kube.ReplacePod(namespace, podName)
		if err := h.PublishReady(l.ctx, "a", true); err == nil || !strings.Contains(err.Error(), "UID in precondition") {
			t.Errorf("PublishReady: %v", err)
		}
		l.sleep(10 * time.Minute)
		if got := l.condition(); got != "" {
			t.Errorf("the other Pod's condition is %q", got)
		}
		if n := l.calls(grantpod.PatchPodStatus); n != 1 {
			t.Errorf("%d patches", n)
		}
	})
}
