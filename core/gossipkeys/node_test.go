package gossipkeys_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

func nameOnly(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestNodeReporter(t *testing.T) {
	live, cache := newMemory(), newMemory()
	reporter := gossipkeys.NewNodeReporter(live, cache, "x")
	report := gossipkeys.Report{
		Version: gossipkeys.Version{UID: "u", Generation: 2}, Keys: []string{"aaaaaaaa", "bbbbbbbb"}, Time: time.Unix(1e9, 0).UTC(),
	}
	if err := reporter.Report(t.Context(), report); err == nil {
		t.Error("without a Node there is nowhere to report to")
	}
	live.putNode("x", func(n *corev1.Node) { n.Annotations = map[string]string{"mine": "kept"} })
	cache.putNode("x", nil)
	if err := reporter.Report(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	node := live.objects["node /x"].(*corev1.Node)
	if got, ok := gossipkeys.ReportOf(node); !ok || !cmp.Equal(got, report) {
		t.Errorf("reads back as %v, %t", got, ok)
	}
	want := map[string]string{"mine": "kept", gossipkeys.ReportAnnotation: `{"secret":"u","generation":2,` +
		`"keys":["aaaaaaaa","bbbbbbbb"],"time":"2001-09-09T01:46:40Z"}`}
	if diff := cmp.Diff(want, node.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}

	// Once the cache has it, the same report is not written again, at whatever
	// time it is made; another one is.
	cache.putNode("x", func(n *corev1.Node) { *n = *node.DeepCopy() })
	live.calls = nil
	report.Time = time.Unix(2e9, 0)
	if err := reporter.Report(t.Context(), report); err != nil || len(live.calls) != 0 {
		t.Errorf("%v, %v", live.calls, err)
	}
	report.Generation = 3
	if err := reporter.Report(t.Context(), report); err != nil || len(live.calls) != 1 {
		t.Errorf("%v, %v", live.calls, err)
	}
	live.before = failing("patch", errForbidden)
	report.Generation = 4
	if err := reporter.Report(t.Context(), report); !errors.Is(err, errForbidden) {
		t.Errorf("got %v", err)
	}
}

func TestReportOf(t *testing.T) {
	for _, annotation := range []string{"", "{", "[]", `{"generation":1}`, `{"keys":[]}`} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{gossipkeys.ReportAnnotation: annotation}}}
		if r, ok := gossipkeys.ReportOf(node); ok || !cmp.Equal(r, gossipkeys.Report{}, cmpopts.EquateEmpty()) {
			t.Errorf("%q is read as %v", annotation, r)
		}
	}
	if _, ok := gossipkeys.ReportOf(&corev1.Node{}); ok {
		t.Error("no annotation is no report")
	}
}

func TestNodePeers(t *testing.T) {
	m := newMemory()
	address := func(kind corev1.NodeAddressType, ip string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: kind, Address: ip})
		}
	}
	m.putNode("b", address(corev1.NodeHostName, "10.0.0.9"))
	m.putNode("b", address(corev1.NodeInternalIP, "b.example.com"))
	m.putNode("b", address(corev1.NodeInternalIP, "10.0.0.2"))
	m.putNode("a", address(corev1.NodeInternalIP, "fd00::1"))
	m.putNode("unborn", address(corev1.NodeExternalIP, "192.0.2.1"))
	m.putNode("c", address(corev1.NodeInternalIP, "10.0.0.3"))
	m.putNode("c", func(n *corev1.Node) { n.Labels = map[string]string{"agent": "no"} })

	notC, err := labels.Parse("agent!=no")
	if err != nil {
		t.Fatal(err)
	}
	peers := gossipkeys.NewNodePeers(m, gossipkeys.Port, gossipkeys.WithNodes(notC))
	got, err := peers.Peers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []gossipkeys.Peer{
		{Name: "a", Addr: netip.MustParseAddrPort("[fd00::1]:10351")},
		{Name: "b", Addr: netip.MustParseAddrPort("10.0.0.2:10351")},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.before = failing("list", errTimeout)
	if _, err := peers.Peers(t.Context()); !errors.Is(err, errTimeout) {
		t.Errorf("got %v", err)
	}
}

// All members agree on every owner, whatever order they see; a member that goes
// moves only its own addresses; and the shares are about even.
func TestOwner(t *testing.T) {
	members := []string{"a", "b", "c", "d"}
	reversed := []string{"d", "c", "b", "a"}
	without := []string{"a", "b", "d"}
	count := map[string]int{}
	for i := range 4000 {
		ip := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		owner := gossipkeys.Owner(members, ip)
		count[owner]++
		if other := gossipkeys.Owner(reversed, ip); other != owner {
			t.Fatalf("%s: %s and %s both own it", ip, owner, other)
		}
		if mapped := gossipkeys.Owner(members, netip.AddrFrom16(ip.As16())); mapped != owner {
			t.Fatalf("%s and its 4-in-6 form have different owners", ip)
		}
		if after := gossipkeys.Owner(without, ip); owner != "c" && after != owner {
			t.Fatalf("%s moved from %s to %s because c went", ip, owner, after)
		}
	}
	for _, name := range members {
		if count[name] < 850 || count[name] > 1150 {
			t.Errorf("%s owns %d of 4000", name, count[name])
		}
	}
	if got := gossipkeys.Owner(nil, anIP); got != "" {
		t.Errorf("nobody is %q", got)
	}
}

func TestReportsCarryNoKeys(t *testing.T) {
	r := gossipkeys.Report{Keys: keys("A").Fingerprints()}
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if form := leaks(string(encoded)+fmt.Sprintf("%#v", r), 'A'); form != "" {
		t.Errorf("shows the key in %s", form)
	}
}
