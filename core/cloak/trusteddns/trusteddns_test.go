package trusteddns_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak/trusteddns"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

func addrs(texts ...string) (out []netip.Addr) {
	for _, s := range texts {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func texts(addrs []netip.Addr) string {
	var out []string
	for _, a := range addrs {
		out = append(out, a.String())
	}
	return strings.Join(out, " ")
}

// dns is an API server with a kube-dns, whose reads of a kind may fail.
type dns struct {
	kube.Kube
	t       *testing.T
	failing map[string]bool
}

func newDNS(t *testing.T) *dns {
	d := &dns{Kube: apiclient.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme), t: t, failing: map[string]bool{}}
	d.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.0.0.200", Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}},
		},
	})
	return d
}

func (d *dns) create(obj client.Object) {
	d.t.Helper()
	if err := d.Create(d.t.Context(), obj); err != nil {
		d.t.Fatal(err)
	}
}

func (d *dns) slice(name, service string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
	}
	d.create(s)
	return s
}

func endpoint(addr string, ready, serving, terminating *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{addr}, Conditions: discoveryv1.EndpointConditions{Ready: ready, Serving: serving, Terminating: terminating}}
}

var errSlow = errors.New("slow")

func (d *dns) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if d.failing["get"] {
		return errSlow
	}
	err := d.Kube.Get(ctx, key, obj, opts...)
	if svc, ok := obj.(*corev1.Service); ok && err == nil && svc.Spec.ClusterIP != "None" {
		// The fake has one family of addresses; a cluster with both has this.
		svc.Spec.ClusterIPs = append(svc.Spec.ClusterIPs, "fd00::a")
	}
	return err
}

func (d *dns) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if d.failing["list"] {
		return errSlow
	}
	return d.Kube.List(ctx, list, opts...)
}

// Section 2.7, S15 and S16: whose answers count.
func TestServers(t *testing.T) {
	d := newDNS(t)
	yes, no := ptr.To(true), ptr.To(false)
	d.slice("a", "kube-dns", endpoint("10.0.0.9", nil, nil, nil), endpoint("10.0.0.3", yes, yes, no), endpoint("10.0.0.4", no, no, no))
	d.slice("b", "kube-dns", endpoint("10.0.0.5", no, yes, yes), endpoint("10.0.0.6", no, nil, nil), endpoint("10.0.0.3", yes, nil, nil))
	d.slice("c", "other", endpoint("10.0.0.7", yes, yes, no))
	static := addrs("169.254.20.10", "10.0.0.200")
	for _, tc := range []struct {
		row       string
		get, list bool // fail
		want      string
	}{
		{"all", false, false, "169.254.20.10 10.0.0.200 fd00::a 10.0.0.3 10.0.0.5 10.0.0.9"},
		{"the Service cannot be read", true, false, "169.254.20.10 10.0.0.200 10.0.0.3 10.0.0.5 10.0.0.9"},
		{"the slices cannot be read", false, true, "169.254.20.10 10.0.0.200 fd00::a"},
		{"nothing can be read", true, true, "169.254.20.10 10.0.0.200"},
	} {
		d.failing = map[string]bool{"get": tc.get, "list": tc.list}
		if got := texts(trusteddns.TrustedDNSServers(t.Context(), d, static, logr.Discard())); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.row, got, tc.want)
		}
	}
	d.failing = map[string]bool{"get": true, "list": true}
	if got := trusteddns.TrustedDNSServers(t.Context(), d, nil, logr.Discard()); len(got) != 0 {
		t.Errorf("with nothing known, %v are trusted", got)
	}
}

func TestHeadless(t *testing.T) {
	d := &dns{Kube: apiclient.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme), t: t}
	if got := trusteddns.TrustedDNSServers(t.Context(), d, nil, logr.Discard()); len(got) != 0 {
		t.Errorf("without a Service: %v", got)
	}
	d.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}})
	if got := trusteddns.TrustedDNSServers(t.Context(), d, nil, logr.Discard()); len(got) != 0 {
		t.Errorf("headless: %v", got)
	}
}

// Section 2.7: Apply is called when the set has changed since it last succeeded.
func TestReconcile(t *testing.T) {
	d := newDNS(t)
	var applied []string
	fail := false
	recorder := record.NewFakeRecorder(10)
	r := &trusteddns.TrustedDNSReconciler{Cache: d, Log: logr.Discard(), Recorder: recorder, Apply: func(_ context.Context, servers []netip.Addr) error {
		applied = append(applied, texts(servers))
		if fail {
			return errSlow
		}
		return nil
	}}
	step := func(row string, wantErr bool, want ...string) {
		t.Helper()
		applied = nil
		if _, err := r.Reconcile(t.Context(), reconcile.Request{}); (err != nil) != wantErr {
			t.Errorf("%s: %v", row, err)
		}
		if diff := cmp.Diff(want, applied); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row, diff)
		}
	}
	step("start", false, "10.0.0.200 fd00::a")
	step("no change", false)
	s := d.slice("a", "kube-dns", endpoint("10.0.0.3", nil, nil, nil))
	fail = true
	step("a change that cannot be applied", true, "10.0.0.200 fd00::a 10.0.0.3")
	step("again", true, "10.0.0.200 fd00::a 10.0.0.3")
	fail = false
	step("at last", false, "10.0.0.200 fd00::a 10.0.0.3")
	step("no change", false)
	d.failing["list"] = true
	step("a list that fails takes away at once, and is an error", true, "10.0.0.200 fd00::a")
	d.failing["list"] = false
	step("and back", false, "10.0.0.200 fd00::a 10.0.0.3")
	fail = true
	if err := d.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	step("it goes, and that cannot be applied", true, "10.0.0.200 fd00::a")
	fail = false
	d.slice("b", "kube-dns", endpoint("10.0.0.3", nil, nil, nil))
	step("it is back, but who knows what is applied", false, "10.0.0.200 fd00::a 10.0.0.3")
	var many []discoveryv1.Endpoint
	for i := range 70 {
		many = append(many, endpoint(fmt.Sprintf("10.0.1.%d", i), nil, nil, nil))
	}
	d.slice("c", "kube-dns", many...)
	applied = nil
	for range 2 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(applied) != 1 || strings.Count(applied[0], " ") != trusteddns.ServersMax-1 || len(recorder.Events) != 1 {
		t.Errorf("S34: %d times, %d events: %v", len(applied), len(recorder.Events), applied)
	}
}
