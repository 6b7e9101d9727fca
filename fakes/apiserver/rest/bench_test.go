package rest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

// BenchmarkGet reads one object: as a call of the server, and over HTTP in process
// and over a socket.
func BenchmarkGet(b *testing.B) {
	server, h := filled(b, 1)
	b.Run("call", func(b *testing.B) {
		req := &apiserver.Request{Verb: apiserver.Get, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: "default", Name: "p0", Shared: true}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := server.Do(req); err != nil {
				b.Fatal(err)
			}
		}
	})
	socket := httptest.NewServer(h)
	defer socket.Close()
	for _, accept := range []string{"application/json", protobuf} {
		b.Run("in process, "+accept, func(b *testing.B) { benchmarkRead(b, h, "http://x"+pods+"/p0", accept) })
		b.Run("socket, "+accept, func(b *testing.B) { benchmarkRead(b, http.DefaultTransport, socket.URL+pods+"/p0", accept) })
	}
}

// BenchmarkList lists 1,000 pods.
func BenchmarkList(b *testing.B) {
	_, h := filled(b, 1000)
	for _, accept := range []string{"application/json", protobuf, "application/json;as=Table;g=meta.k8s.io;v=v1"} {
		b.Run(accept, func(b *testing.B) { benchmarkRead(b, h, "http://x"+pods, accept) })
	}
}

const pods = "/api/v1/namespaces/default/pods"

func benchmarkRead(b *testing.B, transport http.RoundTripper, url, accept string) {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	must(b, err)
	r.Header.Set("Accept", accept)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := transport.RoundTrip(r)
		must(b, err)
		_, err = io.Copy(io.Discard, resp.Body)
		must(b, err)
		must(b, resp.Body.Close())
	}
}

func filled(b *testing.B, n int) (*apiserver.Server, *rest.Handler) {
	b.Helper()
	server := apiserver.New(apiserver.Options{})
	for i := range n {
		_, err := server.Do(&apiserver.Request{
			Verb: apiserver.Create, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: "default",
			Object: &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), Labels: map[string]string{"app": "a"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		})
		must(b, err)
	}
	return server, rest.New(server)
}
