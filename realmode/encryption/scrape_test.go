package encryption_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/realmode/encryption"
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestScrape: each Lease finds its API server among the endpoints of the Service, by what
// the server says of itself, and nobody is taken for another.
func TestScrape(t *testing.T) {
	answers := map[string]func(w http.ResponseWriter){
		"a":      loaded("a", "one"),
		"b":      loaded("b", "two"),
		"silent": func(w http.ResponseWriter) { fmt.Fprintln(w, "go_goroutines 7") },
		"broken": func(w http.ResponseWriter) { http.Error(w, "no", http.StatusForbidden) },
		"long":   func(w http.ResponseWriter) { fmt.Fprint(w, strings.Repeat("x", 1<<20)) },
	}
	live := client.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
	}
	for name, answer := range answers {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "Bearer t" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			answer(w)
		}))
		t.Cleanup(server.Close)
		_, port, err := net.SplitHostPort(server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		part := slice.DeepCopy()
		part.Name += "-" + name
		part.Ports = []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To(int32(number))}, {Name: ptr.To("other"), Port: ptr.To[int32](1)}}
		if err := live.Create(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.Replace(address, "192.0.2.1", "127.0.0.1", 1))
	}
	s, err := encryption.NewScraper(&restclient.Config{Dial: dial, BearerToken: "t", TLSClientConfig: restclient.TLSClientConfig{Insecure: true}}, live)
	if err != nil {
		t.Fatal(err)
	}
	scrape := func(lease string) (string, error) {
		return s.Scrape(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: lease}})
	}
	for lease, want := range map[string]string{"a": hash("one"), "b": hash("two")} {
		if got, err := scrape(lease); err != nil || got != want {
			t.Errorf("%s has loaded %q, error %v, want %s", lease, got, err, want)
		}
	}
	_, err = scrape("c")
	if err == nil {
		t.Fatal("somebody says that he is c")
	}
	for _, want := range []string{"lease c: no API server says that it is this one", "is it started with --encryption-provider-config-automatic-reload?", "it answers 403 Forbidden", "token too long"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %s", err, want)
		}
	}
}

// loaded answers as kube-apiserver does, which tells of the configuration before as well
// for a moment.
func loaded(id, file string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		const metric = "apiserver_encryption_config_controller_last_config_info"
		fmt.Fprintf(w, "# HELP %s [ALPHA] Information about the last applied encryption configuration\n# TYPE %s gauge\n", metric, metric)
		fmt.Fprintf(w, "%s{apiserver_id_hash=%q,hash=%q} 0\n", metric, hash(id), hash("before"))
		fmt.Fprintf(w, "%s{apiserver_id_hash=%q,hash=%q} 1\n", metric, hash(id), hash(file))
	}
}
